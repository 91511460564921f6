"""The words of a fetched document, whatever its kind: HTML, plain text, JSON or PDF.

What is quoted from a page is looked for in exactly this text, so investigator and validator must read pages with this
one function. It imports nothing of ours, because `kit.web.reading` runs this file alone in a child that may be killed.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

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
_NOT_OF_PAGES: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined"})
"""Python knows them and no page uses them; some take a time that grows with the square of the length."""
_UNPAIRED = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")


class Unreadable(ValueError):
    """There are no words to be had; the message is one sentence, and says nothing that the document says."""


@dataclass(frozen=True, slots=True)
class Readable:
    """What a document says. Shapes: `text` has single spaces, and a line for each block."""

    title: str | None
    text: str


def readable(data: bytes, content_type: str | None) -> Readable:
    """Read a document by what its sender calls it, or by how it begins where that says nothing.

    Raises: Unreadable.
    """
    match kind(data, content_type):
        case "pdf":
            return _pdf(data)
        case "html":
            return _html(_decoded(data, content_type))
        case "json":
            return _json(_decoded(data, content_type))
        case "plain":
            return Readable(None, _tidy(_decoded(data, content_type)))
        case other:
            raise Unreadable(f"a document of the kind {other} holds no text that can be read here")


def kind(data: bytes, content_type: str | None) -> str:
    """`pdf`, `html`, `json`, `plain`, or the media type of what cannot be read."""
    said = (content_type or "").partition(";")[0].strip().lower()
    if said == "application/pdf" or b"%PDF-" in data[:1024]:
        return "pdf"
    if said in ("text/html", "application/xhtml+xml"):
        return "html"
    if said == "application/json" or said.endswith("+json"):
        return "json"
    if said.startswith("text/") or said in ("application/xml", "application/javascript") or said.endswith("+xml"):
        return "plain" if not said.endswith("svg+xml") else said
    if said in ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown"):
        if _HTML_START.match(data[:4096]):
            return "html"
        return "application/octet-stream" if b"\0" in data[:4096] else "plain"
    return said


def _decoded(data: bytes, content_type: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    said = _CHARSET_PARAMETER.search(content_type or "")
    meta = _CHARSET.search(data[:4096])
    for name in (str(said[1]) if said else None, bytes(meta[1]).decode() if meta else None, "utf-8"):
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
    for node in parser.css(_NO_TEXT):
        node.decompose()
    text = "" if parser.body is None else _tidy("".join(_words(parser.body)))
    return Readable(title[:1_000] or None, text)


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
    said = io.StringIO()
    try:
        # Piece by piece, since deep nesting makes a line's indent longer than all that it holds.
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(json.loads(text)):
            said.write(piece)
            if said.tell() >= MAX_CHARACTERS:
                break
    except (ValueError, RecursionError):
        return Readable(None, _tidy(text))
    return Readable(None, _UNPAIRED.sub("\ufffd", said.getvalue()[:MAX_CHARACTERS]))


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
    """Read a document from standard input, called as the argument says, and answer in JSON on standard output.

    Bounds itself first: should the one who waits for it die, it ends by itself.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        found = readable(sys.stdin.buffer.read(), sys.argv[1])
        answer = {"title": found.title, "text": found.text}
    except Unreadable as error:
        answer = {"unreadable": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
