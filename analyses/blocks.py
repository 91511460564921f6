"""Untrusted text stands between markers that do not occur in it, so no article can end its own block and speak as us.

A fixed marker would be enough to break this: an article could carry the end marker and go on with instructions.
"""

from __future__ import annotations


def raw_marks(tag: str, *texts: str) -> tuple[str, str]:
    """Begin and end markers that occur in none of the texts of a message."""
    name, suffix = tag, 1
    while any(f"BEGIN {name}>>>" in text or f"END {name}>>>" in text for text in texts):
        suffix += 1
        name = f"{tag} {suffix}"
    return f"<<<BEGIN {name}>>>", f"<<<END {name}>>>"


def raw_block(tag: str, content: str, *others: str) -> str:
    """Wrap `content` in markers that occur neither in it nor in the `others` of the same message."""
    begin, end = raw_marks(tag, content, *others)
    return f"{begin}\n{content}\n{end}"
