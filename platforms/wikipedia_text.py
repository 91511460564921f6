"""Which parts of a Wikipedia article are its text.

Notes, references and navigation are left out by the very rule the extension applies in the reader's browser. Where
both differ, every reader's page conflicts with ours and picture positions shift.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborNode

from platforms.markup import Fragment
from platforms.text import normalize
from platforms.wikipedia_sections import excluded_sections

_EXCLUDED_TAGS: Final = frozenset(("script", "style", "noscript"))
_EXCLUDED_CLASSES: Final = frozenset(
    (
        "mw-editsection", "catlinks", "printfooter", "references", "mw-references-wrap", "reflist", "noprint",
        "navbox", "vertical-navbox", "mw-collapsible-toggle", "mw-tmh-player",
    )
)  # fmt: skip
_HEADINGS: Final = "h2,h3,h4,h5,h6"
_LEVELS: Final = {name: int(name[1]) for name in _HEADINGS.split(",")}
_TOKEN = re.compile("[^\t\n\f\r ]+")


def article(html: str) -> Fragment:
    """Parse an article and take out what is not its text. Raises: UnparseableHtml."""
    content = Fragment.parse(html).narrowed(".mw-parser-output")
    for node in content.select("[class],script,style,noscript"):
        if _is_excluded(node.tag or "", node.attributes.get("class") or ""):
            node.decompose()
    language = content.attribute("lang")
    for heading in content.select(_HEADINGS):
        if is_excluded_section(_title(heading), language):
            _remove_section(_with_wrapper(heading))
    return content


def article_text(html: str) -> str:
    """Give the normalised text of an article. Raises: UnparseableHtml. Source: CONTRACT 4.5."""
    return normalize(article(html).separated_text())


def is_excluded_section(title: str, language: str = "en") -> bool:
    """Whether a section of that title is left out; `language` as the article's HTML states it."""
    return normalize(title).lower() in excluded_sections(language)


def is_excluded_element(tag: str, classes: Iterable[str]) -> bool:
    """Whether an element is left out with all it holds."""
    tag = tag.lower()
    if tag in _EXCLUDED_TAGS:
        return True
    lowered = {token.lower() for token in classes}
    return not lowered.isdisjoint(_EXCLUDED_CLASSES) or (tag == "sup" and "reference" in lowered)


@lru_cache(maxsize=4096)
def _is_excluded(tag: str, class_attribute: str) -> bool:
    # An article repeats few spellings thousands of times.
    return is_excluded_element(tag, _class_tokens(class_attribute))


def _class_tokens(attribute: str) -> list[str]:
    """The classes in an attribute, split at ASCII white space as browsers do."""
    return _TOKEN.findall(attribute)


def _title(heading: LexborNode) -> str:
    headline = heading.css_first(".mw-headline")
    return (heading if headline is None else headline).text()


def _with_wrapper(heading: LexborNode) -> LexborNode:
    """The `div.mw-heading` around a heading if it speaks for it, else the heading itself."""
    parent = heading.parent
    if parent is None or _wrapped_heading(parent) != heading:
        return heading
    return parent


def _wrapped_heading(node: LexborNode) -> LexborNode | None:
    if node.tag != "div":
        return None
    classes = _class_tokens(node.attributes.get("class") or "")
    if "mw-heading" not in (token.lower() for token in classes):
        return None
    return next((child for child in node.iter() if child.tag in _LEVELS), None)


def _level(node: LexborNode) -> int | None:
    """The level of a heading or of the wrapper of one; None for any other node."""
    heading = node if node.tag in _LEVELS else _wrapped_heading(node)
    return None if heading is None or heading.tag is None else _LEVELS[heading.tag]


def _remove_section(start: LexborNode) -> None:
    """Remove a heading and the elements after it, up to the next heading of its level or above; text nodes stay."""
    level = _level(start)
    sibling = start.next
    start.decompose()
    while sibling is not None and level is not None:
        following = sibling.next
        if not (sibling.tag or "-").startswith("-"):
            sibling_level = _level(sibling)
            if sibling_level is not None and sibling_level <= level:
                return
            sibling.decompose()
        sibling = following
