"""Extracts the text of a Wikipedia article.

Notes, references and navigation are excluded by the same rule as in the extension; otherwise texts would conflict and
picture offsets would shift.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Final

from selectolax.lexbor import LexborNode

from platforms.markup import Fragment
from platforms.markup_cost import UnparseableHtml
from platforms.text import normalize
from platforms.wikipedia_sections import excluded_sections

COMMON: Final = frozenset(
    (
        "mw-editsection", "catlinks", "printfooter", "references", "mw-references-wrap", "reflist", "noprint",
        "navbox", "vertical-navbox", "mw-collapsible-toggle", "mw-tmh-player",
    )
)  # fmt: skip
"""Classes of edit links, notes and navigation in every language, in lower case. Source: docs/protocol.md 3.5."""

OF_LANGUAGES: Final[Mapping[str, frozenset[str]]] = {
    # https://de.wikipedia.org/wiki/Hilfe:Navigationsleisten
    "de": frozenset(("navframe",)),
    # https://fr.wikipedia.org/wiki/Modèle:Méta_palette_de_navigation https://fr.wikipedia.org/wiki/Modèle:Portail
    "fr": frozenset(("navbox-container", "bandeau-portail")),
}


def excluded_classes(language: str) -> frozenset[str]:
    """Classes of the elements left out in articles of a language, a tag as in HTML's `lang`."""
    return COMMON | OF_LANGUAGES.get(language.partition("-")[0].lower(), frozenset())


_EXCLUDED_TAGS: Final = frozenset(("script", "style", "noscript"))
_HEADINGS: Final = "h2,h3,h4,h5,h6"
_LEVELS: Final = {name: int(name[1]) for name in _HEADINGS.split(",")}
_ZERO_WIDTH: Final = "\u200b\u200c\u200d\ufeff"
_LONG_TITLE: Final = 512
"""Units: characters. Titles have less than a quarter of these, and normalising joins four at most into one."""
MAX_HEADINGS: Final = 20_000
"""About twenty times the headings of the longest articles; each costs about ten microseconds."""
MAX_NESTED: Final = 8
"""The most headings inside one another; articles have no nested headings."""
_TOKEN = re.compile("[^\t\n\f\r ]+")


def article(html: str, language: str = "") -> Fragment:
    """Parse an article and remove what is not its text; `language` applies if the HTML states none.

    Raises: UnparseableHtml.
    """
    content = Fragment.parse(html).narrowed(".mw-parser-output")
    language = content.attribute("lang") or language
    is_excluded = cache(partial(_is_excluded, language))  # an article repeats few combinations thousands of times
    for node in content.select("[class],script,style,noscript"):
        if is_excluded(node.tag or "", node.attributes.get("class") or ""):
            node.decompose()
    _remove_sections(content, excluded_sections(language))
    return content


def article_text(html: str, language: str = "") -> str:
    """The normalised text of an article. Raises: UnparseableHtml. Source: docs/protocol.md 3.5."""
    return normalize(article(html, language).separated_text())


def is_excluded_section(title: str, language: str = "en") -> bool:
    """Whether a section with this title is excluded; `language` is the one that the article's HTML states."""
    return normalize(title).lower() in excluded_sections(language)


def is_excluded_element(tag: str, classes: Iterable[str], language: str = "") -> bool:
    """Whether an element is excluded with its content."""
    tag = tag.lower()
    if tag in _EXCLUDED_TAGS:
        return True
    lowered = {token.lower() for token in classes}
    return not lowered.isdisjoint(excluded_classes(language)) or (tag == "sup" and "reference" in lowered)


def _is_excluded(language: str, tag: str, class_attribute: str) -> bool:
    return is_excluded_element(tag, _class_tokens(class_attribute), language)


def _class_tokens(attribute: str) -> list[str]:
    """The classes in an attribute, split at ASCII white space as browsers do."""
    return _TOKEN.findall(attribute)


def _remove_sections(content: Fragment, titles: frozenset[str]) -> None:
    headings = content.select(_HEADINGS)
    if not headings:
        return
    if len(headings) > MAX_HEADINGS:
        raise UnparseableHtml(f"more than {MAX_HEADINGS} headings")
    _refuse_nested(headings)
    headlines = _headlines(content)
    wrappers = _Wrappers(content)
    for heading in headings:
        # A heading that was removed with an earlier section has no text.
        if _title(headlines.get(heading.mem_id, heading)) in titles:
            _remove_section(wrappers.around(heading), wrappers)


def _refuse_nested(headings: Iterable[LexborNode]) -> None:
    """Refuse headings nested so deep that reading all titles would be quadratic. Raises: UnparseableHtml."""
    depths: dict[int, int] = {}
    for heading in headings:
        above = heading.parent
        passed = [heading.mem_id]
        while above is not None and above.mem_id not in depths:
            passed.append(above.mem_id)
            above = above.parent
        # The passed elements are in no further heading: headings come in document order, outer ones first.
        depth = 0 if above is None else depths[above.mem_id]
        depths |= dict.fromkeys(passed, depth)
        depths[heading.mem_id] = depth + 1
        if depth == MAX_NESTED:
            raise UnparseableHtml(f"more than {MAX_NESTED} headings inside one another")


def _headlines(content: Fragment) -> dict[int, LexborNode]:
    """The first element of class `mw-headline` in each heading that has one."""
    first: dict[int, LexborNode] = {}
    for headline in content.select(".mw-headline"):
        above = headline.parent
        # All further ancestors have one already.
        while above is not None and above.mem_id not in first:
            first[above.mem_id] = headline
            above = above.parent
    return first


def _title(node: LexborNode) -> str:
    """The normalised title; empty if it is longer than any title."""
    raw = node.text()
    if len(raw) > _LONG_TITLE:
        for mark in _ZERO_WIDTH:
            raw = raw.replace(mark, "")
        raw = " ".join(raw.split())
    return "" if len(raw) > _LONG_TITLE else normalize(raw).lower()


class _Wrappers:
    """The heading of each `div.mw-heading`, cached: a wrapper may have thousands of children."""

    def __init__(self, content: Fragment) -> None:
        self._content = content
        self._headings: dict[int, LexborNode | None] = {}

    def around(self, heading: LexborNode) -> LexborNode:
        """The wrapper of a heading, if it has one, else the heading itself."""
        parent = heading.parent
        wrapped = None if parent is None or self._content.is_root(parent) else self._wrapped(parent)
        if parent is None or wrapped is None or wrapped.mem_id != heading.mem_id:
            return heading
        return parent

    def level(self, node: LexborNode) -> int | None:
        """The level of a heading or of the wrapper of one; None for any other node."""
        heading = node if node.tag in _LEVELS else self._wrapped(node)
        return None if heading is None or heading.tag is None else _LEVELS[heading.tag]

    def _wrapped(self, node: LexborNode) -> LexborNode | None:
        if node.tag != "div":
            return None
        known = self._headings.get(node.mem_id)
        # The heading may have been removed with another wrapper's section; that happens to a wrapper at most once.
        if node.mem_id not in self._headings or (known is not None and known.parent is None):
            known = self._headings[node.mem_id] = _first_heading(node)
        return known


def _first_heading(node: LexborNode) -> LexborNode | None:
    classes = _class_tokens(node.attributes.get("class") or "")
    if "mw-heading" not in (token.lower() for token in classes):
        return None
    return next((child for child in node.iter() if child.tag in _LEVELS), None)


def _remove_section(start: LexborNode, wrappers: _Wrappers) -> None:
    """Remove a heading and the elements up to the next heading of its level or above; text nodes remain."""
    level = wrappers.level(start)
    sibling = start.next
    start.decompose()
    while sibling is not None and level is not None:
        following = sibling.next
        if not (sibling.tag or "-").startswith("-"):
            sibling_level = wrappers.level(sibling)
            if sibling_level is not None and sibling_level <= level:
                return
            sibling.decompose()
        sibling = following
