"""Untrusted text stands between markers that do not occur in it, so no article can end its own block and speak as us.

A fixed marker would be enough to break this: an article could carry the end marker and go on with instructions.
"""

from __future__ import annotations


def raw_block(tag: str, content: str, *others: str) -> str:
    """Wrap `content` in begin and end markers that occur neither in it nor in the `others` of the same message."""
    given = (content, *others)
    name, suffix = tag, 1
    while any(f"BEGIN {name}>>>" in text or f"END {name}>>>" in text for text in given):
        suffix += 1
        name = f"{tag} {suffix}"
    return f"<<<BEGIN {name}>>>\n{content}\n<<<END {name}>>>"
