"""Read the text and the properties of a PDF."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from contracts.composed import nfkc
from kit.documents.decoding import MAX_CHARACTERS, Unreadable, one_line, tidy

if TYPE_CHECKING:
    from pypdf import DocumentInformation

MAX_PAGES: Final = 500
_DAY: Final = re.compile(r"(?:D:)?(\d{8})")
_GLYPHS: Final = re.compile("[\ufb00-\ufb17\ufb50-\ufdcf\ufe70-\ufefc]")
"""Ligatures, and Arabic letters in their joined forms: glyphs that a program drew for the letters of the author."""


@dataclass(frozen=True, slots=True)
class Pdf:
    """A PDF's text in the order of its content (one column after the other) and its properties as stated.

    Shapes: `whole` is false if only its first MAX_PAGES pages were read.
    """

    text: str
    whole: bool
    title: str | None
    author: str | None
    created: date | None


def read_pdf(data: bytes) -> Pdf:
    """Read a PDF. Raises: Unreadable: it is damaged, needs a password or has no text."""
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        document = PdfReader(io.BytesIO(data), strict=False)
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("the PDF needs a password")
        title, author, created = _properties(document.metadata)
        pages: list[str] = []
        left = MAX_CHARACTERS
        whole = len(document.pages) <= MAX_PAGES
        for page in document.pages[:MAX_PAGES]:
            pages.append(page.extract_text()[:left])
            left -= len(pages[-1])
            if left <= 0:
                break
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"the PDF cannot be read: {type(error).__name__}") from error
    text = tidy(_GLYPHS.sub(lambda glyph: nfkc(glyph[0]).strip(), "\n".join(pages)))
    if not text:
        raise Unreadable("the PDF holds no text, only pictures of it")
    return Pdf(text, whole, title, author, created)


def _properties(stated: DocumentInformation | None) -> tuple[str | None, str | None, date | None]:
    if stated is None:
        return None, None, None
    created = _DAY.match(str(stated.creation_date_raw or ""))
    return one_line(str(stated.title or "")), one_line(str(stated.author or "")), created and _day(created[1])


def _day(digits: str) -> date | None:
    try:
        return date.fromisoformat(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
    except ValueError:
        return None
