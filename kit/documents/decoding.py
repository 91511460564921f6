"""Detect a document's kind and encoding, and decode and normalise its text."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import Final

MAX_CHARACTERS: Final = 2_000_000
"""Longest text of a document; the rest is cut."""
MAX_FIELD_CHARACTERS: Final = 2_048
"""Longest metadata field of a document; the rest is cut."""

# Used outside the child too, so these patterns never backtrack: a page of 200 bytes could block its reader for good.
_HTML_START = re.compile(
    rb"\s*+(?>(?><!--.{0,1000}?-->|<\?xml.{0,1000}?\?>)\s*+)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_MEDIA_TYPE = re.compile(r"\s*+([^\s;,]*+)")
# A page whose element is legible byte by byte is not in UTF-16 or UTF-32, whatever the element says.
_CHARSET = re.compile(
    rb"(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)"
    rb"\s*+=\s*+[\"']?+\s*+(?!u(?:tf)?[-_]?(?:16|32))([\w.:-]{1,40})",
    re.IGNORECASE,
)
_CHARSET_PARAMETER = re.compile(r"charset\s*+=\s*+[\"']?+\s*+([\w.:-]{1,40})", re.IGNORECASE)
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_OF_PAGES: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined"})
"""Encodings of Python that no page uses; some take quadratic time."""
_SUPERSETS: Final = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
"""The encodings that browsers use for these names. Source: WHATWG Encoding Standard, labels."""
_LABELS: Final = {
    "cn-big5": "big5",
    "csmacintosh": "mac-roman",
    "csshiftjis": "cp932",
    "dos-874": "cp874",
    "gb_2312-80": "gb2312",
    "iso-8859-8-i": "iso8859-8",
    "koi": "koi8-r",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
    "ksc_5601": "cp949",
    "logical": "iso8859-8",
    "mac": "mac-roman",
    "visual": "iso8859-8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
}
"""Names of encodings that pages use and Python lacks, without the prefix `x-`. Source: as above."""
_UNKNOWN: Final = frozenset(
    {"*/*", "application/octet-stream", "application/unknown", "binary/octet-stream", "unknown/unknown"}
)
_UNPAIRED = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")


class Unreadable(ValueError):
    """The document has no readable text; the message is one sentence and quotes nothing from the document."""


class Interrupted(Unreadable):
    """The reading process was killed, for lack of memory or at shutdown; this says nothing about the document."""


def detect_kind(data: bytes, content_type: str | None) -> str:
    """Return `pdf`, `html`, `json`, `plain`, `xml` (not of a page), or the media type of an unsupported document.

    Of several media types the first one counts; a word without a slash is ignored.
    """
    found = _MEDIA_TYPE.match(content_type or "")
    media_type = found[1].lower() if found and "/" in found[1] else ""
    start = _start(data)
    is_html = _HTML_START.match(start) is not None
    if media_type == "application/pdf" or (b"%PDF-" in data[:1024] and not is_html):
        return "pdf"
    if media_type in ("text/html", "application/xhtml+xml"):
        return "html"
    if media_type == "application/json" or media_type.endswith("+json"):
        return "json"
    if media_type.endswith("svg+xml"):
        return media_type
    if media_type.endswith(("+xml", "/xml")):
        return "html" if is_html else "xml"
    if media_type.startswith("text/") or media_type == "application/javascript":
        return "plain"
    if media_type and media_type not in _UNKNOWN:
        return media_type
    if is_html:
        return "html"
    if start.lstrip().startswith(b"<?xml"):
        return "xml"
    return "application/octet-stream" if b"\0" in start else "plain"


def _start(data: bytes) -> bytes:
    """The first bytes, converted to UTF-8 if they begin with a byte order mark."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[:4096].decode(encoding, "ignore").encode()
    return data[:4096]


def decode(data: bytes, content_type: str | None) -> str:
    """Decode a document by the encoding that fits, of those that its sender or the page names and the usual ones.

    Bytes that are valid UTF-8 and not ASCII are hardly ever in another encoding, whatever they are labelled as.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if not data.isascii():
        with suppress(UnicodeError):
            return data.decode("utf-8")
    parameter = _CHARSET_PARAMETER.search(content_type or "")
    meta = _CHARSET.search(data[:4096])
    for name in (str(parameter[1]) if parameter else None, bytes(meta[1]).decode() if meta else None):
        with suppress(LookupError, UnicodeError):
            label = (name or "").lower().removeprefix("x-").removeprefix("x-")
            encoding = codecs.lookup(_LABELS.get(label, label)).name
            if encoding not in _NOT_OF_PAGES and _fits(
                text := data.decode(_SUPERSETS.get(encoding, encoding), "replace")
            ):
                return text
    return data.decode("ascii" if data.isascii() else "windows-1252", "replace")


def _fits(text: str) -> bool:
    """Whether a decoded text has more non-ASCII characters than replacement characters for undecodable bytes."""
    broken = text.count("\ufffd")
    return not broken or 2 * broken < sum(1 for character in text if not character.isascii())


def tidy(text: str) -> str:
    """`text` with single spaces and no empty lines, cut to MAX_CHARACTERS."""
    text = pair(text[:MAX_CHARACTERS]).replace("\0", "")
    return _LINES.sub("\n", _SPACES.sub(" ", text.replace("\r", "\n"))).strip()


def pair(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which UTF-8 cannot encode."""
    return _UNPAIRED.sub("\ufffd", text)


def one_line(text: str | None, limit: int = MAX_FIELD_CHARACTERS) -> str | None:
    """A metadata field on one line, cut to `limit` characters; None if it is empty."""
    return tidy(text or "")[:limit].replace("\n", " ") or None
