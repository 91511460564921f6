"""The text of a fetched document: HTML, plain text, XML, JSON or PDF.

Quotes from a page are searched in exactly this text of the whole page, so investigator, validator and auditor must all
read pages with `read_document`. For the article in a page, see `kit.documents.article`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kit.documents.decoding import MAX_CHARACTERS, Unreadable, decode, detect_kind, one_line, pair, tidy
from kit.documents.pdf import read_pdf

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_TITLE_CHARACTERS: Final = 1_000

_NO_TEXT: Final = "script,style,noscript,template,svg,iframe,object,canvas,audio,video,select,option,textarea"
_BLOCK_NAMES: Final = (
    "address article aside blockquote br button caption dd details dialog div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul"
)
_NOT_SAID: Final = "s,del,strike,rt,rp"
"""Words that the page takes back, and readings of characters, which stand beside the words and not in them."""
_NOTE: Final = re.compile(r"[\d,;\s\u2010-\u2014-]+|[a-z*\u2020\u2021]", re.IGNORECASE)
_POWER: Final = re.compile(r"[-+\u2212]?\d")
_AROUND_DATA: Final = " \t\r\n/*;"
_ARTICLE: Final = re.compile(r"(?:Article|Posting|Report)$")
"""The schema.org types of articles; a page may describe videos and other pages, too."""
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())


@dataclass(frozen=True, slots=True)
class Readable:
    """A document's text and metadata. Shapes: `text` has single spaces, and a line for each block.

    The other fields are what the page states, unchecked and cut to a length.
    """

    title: str | None
    text: str
    published: str | None = None
    canonical: str | None = None

    @property
    def size(self) -> int:
        """Units: characters of memory."""
        return len(self.text)


def read_document(data: bytes, content_type: str | None) -> Readable:
    """Read a document by its content type, or by its first bytes if that is missing or generic.

    Raises: Unreadable.
    """
    match detect_kind(data, content_type):
        case "pdf":
            pdf = read_pdf(data)
            return Readable(one_line(pdf.title, MAX_TITLE_CHARACTERS), pdf.text)
        case "html":
            return _html(decode(data, content_type))
        case "json":
            return _json(decode(data, content_type))
        case "plain" | "xml":
            return Readable(None, tidy(decode(data, content_type)))
        case other:
            raise Unreadable(f"a document of the kind {other} holds no text that can be read here")


def _html(page: str) -> Readable:
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(pair(page))
    resolve_marks(parser)
    heading = parser.css_first("title")
    title = None if heading is None else one_line(heading.text(), MAX_TITLE_CHARACTERS)
    link = parser.css_first('link[rel="canonical"]')
    canonical = None if link is None else one_line(link.attributes.get("href"))
    published = find_published(parser)
    return Readable(title, visible_text(parser), published, canonical)


def resolve_marks(parser: LexborHTMLParser) -> None:
    """Remove words that are struck out, readings beside characters and footnote marks, and mark exponents.

    Without their style, `5` struck out for `6` reads as 56, and so does `5` with a mark to footnote 6.
    """
    for node in parser.css(_NOT_SAID):
        node.decompose()
    for node in parser.css("sup:not(:has(sup))"):
        raised = node.text(strip=True)
        if _leads_to_note(node) and _NOTE.fullmatch(raised):
            node.decompose()
        elif _POWER.match(raised) and _follows_digit(node):
            node.insert_before("^")


def _follows_digit(raised: LexborNode) -> bool:
    before = raised.prev
    if before is None or before.tag in _BLOCKS:
        return False
    last = before.last_child or before
    return last.tag == "-text" and (last.text_content or "")[-1:].isdigit()


def _leads_to_note(raised: LexborNode) -> bool:
    """Whether a raised text is a link to a place on a page."""
    around = raised.parent
    links = [*raised.css("a"), *([around] if around is not None and around.tag == "a" else ())]
    return any("#" in (link.attributes.get("href") or "") for link in links)


def visible_text(parser: LexborHTMLParser) -> str:
    """The visible text of a page. Removes invisible elements from the parsed page."""
    for node in parser.css(_NO_TEXT):
        node.decompose()
    return "" if parser.body is None else tidy("".join(_words(parser.body)))


def linked_data(parser: LexborHTMLParser) -> Iterator[dict[str, object]]:
    """The top-level items of a page's JSON-LD, each followed by its main entity; other nested items are left out."""
    for node in parser.css('script[type^="application/ld+json" i]'):
        try:
            waiting = [json.loads(_unwrap(node.text()), strict=False)]  # pages write line breaks within strings
        except (ValueError, RecursionError):
            continue
        while waiting:
            item = waiting.pop()
            if isinstance(item, list):
                waiting.extend(reversed(item))
            elif isinstance(item, dict) and "@graph" in item:
                waiting.append(item["@graph"])
            elif isinstance(item, dict):
                yield item
                waiting.append(item.get("mainEntity"))


def _unwrap(script: str) -> str:
    """Linked data without the comments that hide it from old programs."""
    text = script.strip(_AROUND_DATA)
    for start, end in (("<!--", "-->"), ("<![CDATA[", "]]>")):
        text = text.removeprefix(start).removesuffix(end).strip(_AROUND_DATA)
    return text


def find_published(parser: LexborHTMLParser) -> str | None:
    """The publication time that a page states: in linked data (first of an article), else in a meta element."""
    dated = [(item, day) for item in linked_data(parser) if (day := _moment(item.get("datePublished")))]
    if dated:
        return next((day for item, day in dated if _is_article(item.get("@type"))), dated[0][1])
    node = parser.css_first('meta[property="article:published_time"]')
    return None if node is None else one_line(node.attributes.get("content"))


def _moment(stated: object) -> str | None:
    """A moment in linked data, or the first of several."""
    match stated[0] if isinstance(stated, list) and stated else stated:
        case str(moment) | {"@value": str(moment)}:
            return one_line(moment)
        case _:
            return None


def _is_article(stated: object) -> bool:
    types = stated if isinstance(stated, list) else [stated]
    return any(isinstance(each, str) and _ARTICLE.search(each) for each in types)


def _words(body: LexborNode) -> Iterator[str]:
    """The text in document order, a line break at each end of a block; not recursive, since pages nest deeply."""
    node: LexborNode | None = body
    while node is not None:
        tag = node.tag
        if tag == "-text":
            yield node.text_content or ""
        elif tag in _BLOCKS:
            yield "\n"
        following = node.child
        while following is None and node is not None and node.mem_id != body.mem_id:
            following = node.next
            if following is None:
                node = node.parent
                if node is not None and node.tag in _BLOCKS:
                    yield "\n"
            elif node.tag in _BLOCKS:
                yield "\n"
        node = following


def _json(text: str) -> Readable:
    written = io.StringIO()
    try:
        # Piece by piece, since with deep nesting the indents are longer than the values.
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(json.loads(text)):
            written.write(piece)
            if written.tell() >= MAX_CHARACTERS:
                break
    except (ValueError, RecursionError):
        return Readable(None, tidy(text))
    return Readable(None, pair(written.getvalue()[:MAX_CHARACTERS]))
