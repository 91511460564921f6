"""Writes a parsed article as Markdown.

It uses the tree that texts and hashes are made from. A converter with its own parser (markdownify, html2text) would
read broken HTML differently, so the places of pictures and quotations would not match.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from contracts.v1.parts import ImageOccurrence
from platforms.markdown_blocks import Blocks
from platforms.markup import Fragment
from platforms.text import js_trim, normalize
from platforms.urls import resolve

PLACEHOLDER: Final = re.compile("\0([0-9]+)\0")
"""A picture's placeholder, with its number."""
_LINE_BREAK: Final = "\ud800"
"""A parsed page contains neither NUL nor lone surrogates, so they can be used as marks."""

_BLOCKS: Final = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
        "header", "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p",
        "plaintext", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
        "xmp",
    )
)  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_CELLS: Final = frozenset(("td", "th"))
_NOT_ON_ONE_LINE: Final = "ul,ol,menu,dir,dl,pre,table,blockquote,h1,h2,h3,h4,h5,h6"
_LANGUAGE: Final = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})")
_POWER: Final = re.compile("[-+\u2212\u2013]?[0-9]{1,3}")
_DIGITS: Final = re.compile("[0-9]{1,9}")


def write_markdown(fragment: Fragment, base_url: str, occurrences: Iterable[ImageOccurrence]) -> str:
    """Write an article as Markdown, with a `PLACEHOLDER` for each of `occurrences` that it contains."""
    return _Writer(fragment, base_url, occurrences).write()


def picture_url(image: LexborNode, base_url: str) -> str | None:
    """The URL of a picture; None if it has none that could be fetched."""
    reference = js_trim(image.attributes.get("src") or "")
    if not reference or reference.startswith("data:"):
        return None
    return resolve(reference, base_url)


class _Link(NamedTuple):
    node_id: int
    url: str
    begins: int
    block: int
    links_before: int


class _List(NamedTuple):
    node_id: int
    numbers: Iterator[int] | None


class _Writer:
    """Traverses the tree once. Text is collected in `_inline` up to the edge of a block."""

    def __init__(self, fragment: Fragment, base_url: str, occurrences: Iterable[ImageOccurrence]) -> None:
        self._fragment = fragment
        self._base_url = base_url
        self._pictures: defaultdict[str, deque[int]] = defaultdict(deque)
        for occurrence in sorted(occurrences, key=lambda each: each.original_index):
            url = resolve(occurrence.source_url, base_url) or occurrence.source_url
            self._pictures[url].append(occurrence.original_index)
        self._several_lines = _ancestors(fragment.select(_NOT_ON_ONE_LINE))
        self._blocks = Blocks()
        self._inline: list[str] = []
        self._links: list[_Link] = []
        self._links_ended = 0
        self._lists: list[_List] = []
        self._block = 0
        self._heading: int | None = None
        self._row: int | None = None
        self._tables: list[int] = []
        self._cells: list[str] = []
        self._code: int | None = None
        self._language = ""

    def write(self) -> str:
        """The whole article."""
        for node, begins in self._fragment.edges():
            tag = node.tag or ""
            if tag == "-text":
                if begins:
                    self._inline.append((node.text_content or "").replace("\0", ""))
            elif begins:
                self._begin(tag, node)
            else:
                self._end(tag, node)
        self._flush()
        return self._blocks.text()

    def _begin(self, tag: str, node: LexborNode) -> None:
        if tag in _BLOCKS:
            self._edge()
            if tag == "table":
                self._tables.append(node.mem_id)
            if self._code is None and self._row is None:
                self._open(tag, node)
            elif self._row is not None and tag in _CELLS and node.parent is not None:
                self._cell(node.parent.mem_id, tag)
        elif tag == "img":
            self._picture(node)
        elif tag == "br":
            self._inline.append("\n" if self._code is not None else _LINE_BREAK)
        elif tag == "a":
            url = self._target(node)
            if url is not None and self._code is None:
                self._links.append(_Link(node.mem_id, url, len(self._inline), self._block, self._links_ended))
        elif tag == "sup" and self._is_power(node):
            self._inline.append("^")
        elif tag == "code" and self._code is not None:
            self._learn_language(node)

    def _end(self, tag: str, node: LexborNode) -> None:
        if tag == "a" and self._links and self._links[-1].node_id == node.mem_id:
            self._link(self._links.pop())
        elif tag in _BLOCKS:
            self._end_block(tag, node)

    def _end_block(self, tag: str, node: LexborNode) -> None:
        if tag == "table":
            self._tables.pop()
        if node.mem_id == self._code:
            self._end_code()
        elif node.mem_id == self._row:
            self._end_row()
        else:
            self._edge()
            if node.mem_id == self._heading:
                self._heading = None
            self._blocks.close(node.mem_id)
            if self._lists and self._lists[-1].node_id == node.mem_id:
                self._lists.pop()

    def _open(self, tag: str, node: LexborNode) -> None:
        """Open a block outside of code and table rows."""
        if tag in _HEADINGS and self._heading is None:
            self._heading = node.mem_id
            self._blocks.open(node.mem_id, _HEADINGS[tag], "")
        elif tag == "blockquote":
            self._blocks.open(node.mem_id, "> ", "> ")
        elif tag in _LISTS:
            start = node.attributes.get("start") or ""
            begins_with = int(start) if _DIGITS.fullmatch(start) else 1
            self._lists.append(_List(node.mem_id, count(begins_with) if tag == "ol" else None))
        elif tag == "li":
            self._open_item(node)
        elif tag in ("pre", "listing"):
            self._code = node.mem_id
            self._learn_language(node)
        elif tag == "tr" and node.mem_id not in self._several_lines and _has_columns(node):
            self._row = node.mem_id
        elif tag == "hr":
            self._blocks.write(["---"])

    def _open_item(self, node: LexborNode) -> None:
        list_ = self._lists[-1] if self._lists else _List(0, None)  # an item that lies in no list
        first = "- " if list_.numbers is None else f"{next(list_.numbers)}. "
        self._blocks.open(node.mem_id, first, " " * len(first), list_id=list_.node_id)

    def _edge(self) -> None:
        """Handle the beginning or end of a block."""
        if self._code is not None:
            if self._inline and not self._inline[-1].endswith("\n"):
                self._inline.append("\n")
        elif self._row is not None:
            self._inline.append(" ")
        else:
            self._flush()

    def _flush(self) -> None:
        pieces, self._inline = self._inline, []
        self._block += 1
        if pieces:
            lines = _lines("".join(pieces))
            if lines:
                self._blocks.write([" ".join(filter(None, lines))] if self._heading is not None else lines)

    def _end_code(self) -> None:
        code = "".join(self._inline).strip("\n")
        lines = [line.rstrip() for line in code.split("\n")]
        if any(lines):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", code)), default=0))
            self._blocks.write([fence + self._language, *lines, fence])
        self._inline, self._code, self._language = [], None, ""
        self._block += 1

    def _cell(self, row: int, tag: str) -> None:
        if row == self._row:
            if self._cells:
                self._inline.append("| ")
            self._cells.append(tag)

    def _end_row(self) -> None:
        content = " ".join(filter(None, _lines("".join(self._inline))))
        if content.replace(" ", "") != "|" * (len(self._cells) - 1):
            lines = [f"| {content} |"]
            if all(cell == "th" for cell in self._cells):
                lines.append("|" + " --- |" * len(self._cells))
            self._blocks.write(lines, row_of=self._tables[-1] if self._tables else 0)
        self._inline, self._cells, self._row = [], [], None
        self._block += 1

    def _picture(self, node: LexborNode) -> None:
        url = picture_url(node, self._base_url)
        if url is not None and self._pictures.get(url):
            self._inline.append(f"\0{self._pictures[url].popleft()}\0")

    def _link(self, link: _Link) -> None:
        """Turn the text since the link began into a link, if it is within one block and contains no other link."""
        nested = link.links_before != self._links_ended
        self._links_ended += 1
        if nested or link.block != self._block or self._code is not None:
            return
        content = "".join(self._inline[link.begins :])
        words = js_trim(content)
        if _LINE_BREAK in words or "](" in words or not normalize(PLACEHOLDER.sub("", words)):
            return
        before, _, after = content.partition(words)
        self._inline[link.begins :] = [f"{before}[{words}]({link.url}){after}"]

    def _is_power(self, node: LexborNode) -> bool:
        """Whether `node` is a superscript number after a digit: without `^`, ten to the sixth would read 106."""
        raised = node.child
        before = self._inline[-1] if self._inline else ""
        return (
            before[-1:].isdecimal()
            and raised is not None
            and raised.tag == "-text"
            and raised.next is None
            and _POWER.fullmatch(raised.text_content or "") is not None
        )

    def _target(self, node: LexborNode) -> str | None:
        """The URL of a link to a web page; None for any other link."""
        reference = js_trim(node.attributes.get("href") or "")
        if not reference or reference.startswith("#"):
            return None
        url = resolve(reference, self._base_url) or ""
        return url.replace("(", "%28").replace(")", "%29") if url.startswith(("http://", "https://")) else None

    def _learn_language(self, node: LexborNode) -> None:
        named = _LANGUAGE.search(node.attributes.get("class") or "")
        if named:
            self._language = named[1]


def _lines(raw: str) -> list[str]:
    """Normalise line by line; at most one empty line between others, none at the ends."""
    lines: list[str] = []
    for line in map(normalize, raw.split(_LINE_BREAK)):
        if line or (lines and lines[-1]):
            lines.append(line)
    if lines and not lines[-1]:
        lines.pop()
    return lines


def _ancestors(nodes: Iterable[LexborNode]) -> set[int]:
    """All ancestors of these nodes."""
    found: set[int] = set()
    for node in nodes:
        above = node.parent
        while above is not None and above.mem_id not in found:
            found.add(above.mem_id)
            above = above.parent
    return found


def _has_columns(row: LexborNode) -> bool:
    cells = (child for child in row.iter() if child.tag in _CELLS)
    return next(cells, None) is not None and next(cells, None) is not None
