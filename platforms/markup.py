"""Parses HTML to the tree that a browser builds, after bounding the cost.

The tree is that of the HTML standard's fragment parsing algorithm with scripting on, in the context of a `div`, as in
readers' browsers: texts and hashes depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Self

from selectolax.lexbor import LexborHTMLParser, LexborNode

from platforms.markup_cost import UnparseableHtml, refuse_costly

BLOCKS: Final = "p,li,h1,h2,h3,h4,h5,h6,figcaption,blockquote,tr,td,th,div"
"""Elements whose edges separate words. Source: docs/protocol.md 3.2."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_FOREIGN = re.compile(r"<(?:svg|math)[\t\n\f\r />]", re.IGNORECASE)
_HOLDS_HTML: Final = {
    "svg": frozenset(("foreignobject", "desc", "title")),
    "math": frozenset(("mi", "mo", "mn", "ms", "mtext", "annotation-xml")),
}
"""Elements of SVG and MathML that may contain HTML; `annotation-xml` only if its `encoding` says so."""
_HTML_ENCODINGS: Final = frozenset(("text/html", "application/xhtml+xml"))


def _is_foreign(element: LexborNode) -> bool:
    """Whether an element is part of SVG or MathML.

    A browser's parser ends SVG and MathML at `<sup>`; Lexbor (selectolax 1.0) does so at all such tags except `<sup>`.
    No site's own editor writes it there, so such a page is rejected rather than read differently from a browser.
    """
    between: set[str] = set()
    above = element.parent
    while above is not None and above.tag not in _HOLDS_HTML:
        if above.tag != "annotation-xml" or (above.attributes.get("encoding") or "").lower() in _HTML_ENCODINGS:
            between.add((above.tag or "").lower())
        above = above.parent
    return above is not None and between.isdisjoint(_HOLDS_HTML[above.tag or ""])


class Fragment:
    """A parsed HTML fragment, or one element of it. Changes affect the tree that all its parts share."""

    def __init__(self, parser: LexborHTMLParser, element: LexborNode | None = None) -> None:
        self._parser = parser
        self._element = element

    @classmethod
    def parse(cls, html: str) -> Self:
        """Parse HTML to a tree.

        Raises: UnparseableHtml: parsing would take more than about a second (checked before), or the tree would differ
        from a browser's.
        """
        refuse_costly(html)
        # Chromium reads NUL after `<` as U+FFFD where the standard drops it; inside tags and raw text both do.
        html = html.replace("<\0", "<\ufffd")
        parser = LexborHTMLParser(_utf8(html), is_fragment=True, fragment_tag="div", scripting=True)
        if _FOREIGN.search(html) and any(map(_is_foreign, parser.css("svg sup,math sup"))):
            raise UnparseableHtml("<sup> among the elements of SVG or MathML, where browsers end those")
        return cls(parser)

    def narrowed(self, selector: str) -> Fragment:
        """The first element that matches, else the whole fragment."""
        found = self._parser.css_first(selector)
        return self if found is None else Fragment(self._parser, found)

    def attribute(self, name: str) -> str:
        """An attribute of the element; empty without one, or for a whole fragment."""
        return "" if self._element is None else self._element.attributes.get(name) or ""

    def select(self, selector: str) -> list[LexborNode]:
        """Descendants that match, in document order."""
        if self._element is None:
            return self._parser.css(selector)
        return [node for node in self._element.css(selector) if not self.is_root(node)]

    def is_root(self, node: LexborNode) -> bool:
        """Whether a node is the element that the fragment is narrowed to."""
        return self._element is not None and self._element.mem_id == node.mem_id

    def remove(self, selector: str) -> None:
        """Remove every matching descendant."""
        for node in self.select(selector):
            node.decompose()

    def text(self) -> str:
        """All text, as in the DOM's `textContent`."""
        node = self._top()
        return "" if node is None else node.text()

    def separated_text(self) -> str:
        """All text, with a space at both edges of every block. Adds those spaces to the tree."""
        self.separate_blocks()
        return self.text()

    def separate_blocks(self) -> None:
        """Add a space at both edges of every block."""
        for block in self.select(BLOCKS):
            block.insert_before(" ")
            block.insert_after(" ")

    def walk(self) -> Iterator[LexborNode]:
        """Elements and text nodes in document order."""
        node = self._top()
        return iter(()) if node is None else node.traverse(include_text=True)

    def edges(self) -> Iterator[tuple[LexborNode, bool]]:
        """Every node twice, in document order: where it begins (True) and where it ends (False)."""
        top = self._top()
        # An explicit stack: pages nest deeper than Python's recursion limit.
        pending = [] if top is None else [(top, True)]
        while pending:
            node, begins = pending.pop()
            yield node, begins
            if begins:
                pending.append((node, False))
                following = node.child
            else:
                following = node.next if pending or self._element is None else None
            if following is not None:
                pending.append((following, True))

    def _top(self) -> LexborNode | None:
        # A parsed fragment's root has all its top-level nodes as children.
        return self._parser.root if self._element is None else self._element


def _utf8(html: str) -> bytes:
    """Encode as UTF-8; a lone surrogate becomes U+FFFD, as in hashes."""
    try:
        return html.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", html).encode()
