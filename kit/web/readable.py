"""The text of a fetched document: HTML, plain text, JSON or PDF.

Quotes from a page are searched in exactly this text, so investigator and validator must read pages with this function.
It imports nothing of ours, because `kit.web.reading` runs this file alone in a child process that may be killed.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_CHARACTERS: Final = 2_000_000
"""Of the text; a document that holds more is cut."""
MAX_PAGES: Final = 500
"""Of a PDF."""
_MEMORY_BYTES: Final = 1_000_000_000
_CPU_S: Final = 30

_NO_TEXT: Final = "script,style,noscript,template,svg,iframe,object,canvas,audio,video,select,option,textarea"
_BLOCK_NAMES: Final = (
    "address article aside blockquote br button caption dd details dialog div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul"
)
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_HTML_START = re.compile(
    rb"\s*(?:<!--.{0,1000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_CHARSET_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ARTICLES: Final = "article,main,[role=main]"
_MARKS_READ: Final = 20
"""Nested by the thousand, each would be read again with all that it holds."""
_LINKED: Final = {
    "datePublished": "published",
    "author": "author",
    "publisher": "publisher",
    "inLanguage": "language",
    "isAccessibleForFree": "is_free",
}
_META: Final = {
    "article:published_time": "published",
    "author": "author",
    "og:site_name": "publisher",
}
_SAID_CHARACTERS: Final = 2_048
_NOT_OF_PAGES: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined"})
"""Encodings of Python that no page uses; some take quadratic time."""
_PLAIN: Final = frozenset({"application/xml", "application/javascript"})
_UNPAIRED = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")


class Unreadable(ValueError):
    """The document has no readable text; the message is one sentence and quotes nothing from the document."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A document's text. Shapes: `text` has single spaces, and a line for each block.

    `main` is the part of it that the page marks as its article, None without such a mark. The rest is what the page
    says of itself, unchecked and cut to a length.
    """

    title: str | None
    text: str
    main: str | None = None
    language: str | None = None
    author: str | None = None
    publisher: str | None = None
    published: str | None = None
    canonical: str | None = None
    is_free: bool = True

    @property
    def size(self) -> int:
        """Units: characters of memory."""
        return len(self.text) + len(self.main or "")


def read_document(data: bytes, content_type: str | None) -> Readable:
    """Read a document by its content type, or by its first bytes where that is missing or generic.

    Raises: Unreadable.
    """
    match detect_kind(data, content_type):
        case "pdf":
            return _pdf(data)
        case "html":
            return _html(_decode(data, content_type))
        case "json":
            return _json(_decode(data, content_type))
        case "plain":
            return Readable(None, _tidy(_decode(data, content_type)))
        case other:
            raise Unreadable(f"a document of the kind {other} holds no text that can be read here")


def detect_kind(data: bytes, content_type: str | None) -> str:
    """`pdf`, `html`, `json`, `plain`, or the media type of an unsupported document."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type == "application/pdf" or b"%PDF-" in data[:1024]:
        return "pdf"
    if media_type in ("text/html", "application/xhtml+xml"):
        return "html"
    if media_type == "application/json" or media_type.endswith("+json"):
        return "json"
    if media_type.endswith("svg+xml"):
        return media_type
    if media_type.startswith("text/") or media_type.endswith("+xml") or media_type in _PLAIN:
        return "plain"
    if media_type in ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown"):
        if _HTML_START.match(data[:4096]):
            return "html"
        return "application/octet-stream" if b"\0" in data[:4096] else "plain"
    return media_type


def _decode(data: bytes, content_type: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    parameter = _CHARSET_PARAMETER.search(content_type or "")
    meta = _CHARSET.search(data[:4096])
    for name in (str(parameter[1]) if parameter else None, bytes(meta[1]).decode() if meta else None, "utf-8"):
        if name is None:
            continue
        try:
            if codecs.lookup(name).name not in _NOT_OF_PAGES:
                return data.decode(name, "strict" if name == "utf-8" else "replace")
        except (LookupError, UnicodeError):
            continue
    return data.decode("windows-1252", "replace")


def _tidy(text: str) -> str:
    text = _UNPAIRED.sub("\ufffd", text[:MAX_CHARACTERS]).replace("\0", "")
    return _LINES.sub("\n", _SPACES.sub(" ", text.replace("\r", "\n"))).strip()


def _html(page: str) -> Readable:
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(_UNPAIRED.sub("\ufffd", page))
    heading = parser.css_first("title")
    title = _tidy(heading.text()).replace("\n", " ") if heading is not None else ""
    said = _read_head(parser)
    for node in parser.css(_NO_TEXT):
        node.decompose()
    text = "" if parser.body is None else _tidy("".join(_words(parser.body)))
    marked = max((_tidy("".join(_words(node))) for node in parser.css(_ARTICLES)[:_MARKS_READ]), key=len, default="")
    is_free = said.pop("is_free", None) != "false"
    return Readable(title[:1_000] or None, text, marked or None, **said, is_free=is_free)


def _read_head(parser: LexborHTMLParser) -> dict[str, str | None]:
    """What a page says of itself: in linked data, else in its meta elements."""
    found: dict[str, str] = {}
    for node in parser.css('script[type="application/ld+json"]'):
        try:
            _read_linked(json.loads(node.text()), found)
        except (ValueError, RecursionError):
            continue
    for node in parser.css("meta[content]"):
        name = (node.attributes.get("property") or node.attributes.get("name") or "").lower()
        if name in _META:
            found.setdefault(_META[name], node.attributes.get("content") or "")
    if parser.root is not None:
        found.setdefault("language", parser.root.attributes.get("lang") or "")
    link = parser.css_first('link[rel="canonical"]')
    found.setdefault("canonical", (link.attributes.get("href") if link is not None else None) or "")
    return {name: _tidy(value)[:_SAID_CHARACTERS].replace("\n", " ") or None for name, value in found.items()}


def _read_linked(data: object, found: dict[str, str]) -> None:
    """Take from an article's linked data what is not known yet."""
    items = data.get("@graph", [data]) if isinstance(data, dict) else data
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or "datePublished" not in item:
            continue
        for key, name in _LINKED.items():
            value = item.get(key)
            value = value[0] if isinstance(value, list) and value else value
            value = value.get("name") if isinstance(value, dict) else value
            value = str(value).lower() if isinstance(value, bool) or key == "isAccessibleForFree" else value
            if isinstance(value, str):
                found.setdefault(name, value)


def _words(body: LexborNode) -> Iterator[str]:
    """The text in document order, a line break at every edge of a block; without recursion, since pages nest deeply."""
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
        # In pieces, since with deep nesting the indents are longer than the values.
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(json.loads(text)):
            written.write(piece)
            if written.tell() >= MAX_CHARACTERS:
                break
    except (ValueError, RecursionError):
        return Readable(None, _tidy(text))
    return Readable(None, _UNPAIRED.sub("\ufffd", written.getvalue()[:MAX_CHARACTERS]))


def _pdf(data: bytes) -> Readable:
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        document = PdfReader(io.BytesIO(data), strict=False)
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("the PDF needs a password")
        title = str((document.metadata and document.metadata.title) or "")
        pages: list[str] = []
        left = MAX_CHARACTERS
        for page in document.pages[:MAX_PAGES]:
            pages.append(page.extract_text()[:left])
            left -= len(pages[-1])
            if left <= 0:
                break
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"the PDF cannot be read: {type(error).__name__}") from error
    text = _tidy("\n".join(pages))
    if not text:
        raise Unreadable("the PDF holds no text, only pictures of it")
    return Readable(_tidy(title).replace("\n", " ")[:1_000] or None, text)


def main() -> None:
    """Read a document from standard input, with its content type as the argument, and write JSON to standard output.

    Sets its own limits first, so that it ends even if its parent dies.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        found = read_document(sys.stdin.buffer.read(), sys.argv[1])
        answer = asdict(found)
    except Unreadable as error:
        answer = {"unreadable": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
