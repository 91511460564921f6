"""The article in a document: main text, title, author, publisher, date, language, and any wall in front of it.

Main text and metadata of HTML are found by trafilatura, in its mode that would rather leave out a sentence than take a
reader's comment for one: every sentence of the article may be audited, and each audit is paid for.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from kit.documents.decoding import Unreadable, decode, detect_kind, one_line, pair, tidy
from kit.documents.pdf import MAX_PAGES, read_pdf
from kit.documents.readable import MAX_TITLE_CHARACTERS, find_published, linked_data, resolve_marks
from kit.documents.walls import MIN_LETTERS, Wall, count_letters, find_wall

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from selectolax.lexbor import LexborHTMLParser, LexborNode
    from trafilatura.settings import Document

_DAYS: Final = (
    "time,abbr[title],[itemprop^=date],[id*=date i],"
    "[class*=date i],[class*=publish i],[class*=posted i],[class*=byline i]"
)
_OTHERS: Final = ",".join(
    f'{part}:not(html,body,:has(h1,script[type*="ld+json"]))'
    for part in (
        *("nav", "blockquote", "aside:not(article aside)", "footer:not(article footer)"),
        *(
            f"[{name}*={word} i]"
            for name in ("class", "id")
            for word in ("comment", "most-read", "popular", "recommend", "related", "sidebar", "teaser", "trending")
        ),
    )
)
"""Parts of a page about other articles, what readers say and whom it quotes: they name other authors and days."""
_FIRST_YEAR: Final = 1995
"""An earlier year is a placeholder for an unknown date, such as 1970-01-01; the same limit as in htmldate."""
_MARKS_READ: Final = 50
_MARK_CHARACTERS: Final = 200
_BYLINE_CHARACTERS: Final = 120
"""A longer paragraph mentions a day; a shorter one may state that of the article."""
_NO_TITLE: Final = re.compile(
    r"untitled\b|microsoft (word|powerpoint)|powerpoint presentation|slide \d|\S*[\\/]|.*\.\w{2,4}$|[\W\d_]*$",
    re.IGNORECASE,
)
_NO_AUTHOR: Final = re.compile(
    r"(admin|administrator|anonymous|author|default|guest|office|owner|root|unknown|user|windows)\b|[\W\d_]*$",
    re.IGNORECASE,
)
_NOBODY: Final = ("Admin", "Administrator", "Editor", "Guest", "Username")
_TITLE_WORDS: Final = 3
"""A page's title with fewer words is hardly that of its article."""
_LANGUAGES: Final = (
    ("html", "lang"),
    ("html", "xml:lang"),
    ('meta[property="og:locale"]', "content"),
    ('meta[http-equiv="content-language" i]', "content"),
)


@dataclass(frozen=True, slots=True)
class ReadArticle:
    """An article, as its document states it. Shapes: `text` may be empty; `published` is a day, YYYY-MM-DD."""

    text: str
    title: str | None = None
    author: str | None = None
    publisher: str | None = None
    published: str | None = None
    language: str | None = None
    wall: Wall | None = None

    @property
    def size(self) -> int:
        """Units: characters of memory."""
        return len(self.text)


def read_article(data: bytes, content_type: str | None) -> ReadArticle:
    """Read a document as an article. Raises: Unreadable."""
    match detect_kind(data, content_type):
        case "pdf":
            return _pdf(data)
        case "html":
            return _html(pair(decode(data, content_type)))
        case "plain":
            return ReadArticle(tidy(decode(data, content_type)))
        case other:
            raise Unreadable(f"a document of the kind {other} holds no article that can be read here")


def _html(page: str) -> ReadArticle:
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(page)
    resolve_marks(parser)
    try:
        text = tidy(_find_text(parser.html or ""))
        own = _leave_out_others(parser.html or "")
        found = _find_metadata(own.html or "")
        published = _find_day(own)
    except Exception as error:
        raise Unreadable(f"its article cannot be found: {type(error).__name__}") from error
    return ReadArticle(
        text,
        _choose_title(parser, one_line(found.title, MAX_TITLE_CHARACTERS)),
        one_line(found.author),
        one_line(found.sitename),
        published,
        _language(parser),
        find_wall(parser, text),
    )


def _find_text(page: str) -> str:
    """The main text of a page that was parsed as browsers do; libxml2 alone finds nothing in some pages."""
    import logging

    from lxml.etree import strip_elements
    from trafilatura import bare_extraction
    from trafilatura.settings import Document
    from trafilatura.utils import load_html

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    tree = load_html(page)
    if tree is None:
        return ""
    _open_layout(tree)
    strip_elements(tree, "noscript", with_tail=False)  # readers have scripts
    text = ""
    for precise in (True, False):
        found = bare_extraction(tree, favor_precision=precise, include_comments=False)
        text = (found.text if isinstance(found, Document) else None) or ""
        if count_letters(text) >= MIN_LETTERS:
            break
    return text


def _leave_out_others(page: str) -> LexborHTMLParser:
    from selectolax.lexbor import LexborHTMLParser

    own = LexborHTMLParser(page)
    for node in own.css(_OTHERS):
        node.decompose()
    return own


def _find_metadata(page: str) -> Document:
    from trafilatura.metadata import extract_metadata

    days = {"original_date": True, "extensive_search": False}
    return extract_metadata(page, date_config=days, author_blacklist=set(_NOBODY))


def _open_layout(tree: HtmlElement) -> None:
    """Turn tables that only arrange paragraphs, as in newsletters, into blocks: a table's cell is read as one line."""
    for table in tree.xpath("//table[.//p or .//h1 or .//h2 or .//table][not(.//th or .//caption)]"):
        for part in (table, *table.xpath("./*|./*/tr|./tr/td|./*/tr/td")):
            part.tag = "div"


def _find_day(parser: LexborHTMLParser) -> str | None:
    """The publication day in a page's markup. "Yesterday" refers to it, so a day from the prose is worse than none."""
    from htmldate import find_date

    with suppress(ValueError):
        day = date.fromisoformat((find_published(parser) or "")[:10])
        if day.year >= _FIRST_YEAR:
            return day.isoformat()
    marks = [node.html or "" for node in parser.css(_DAYS)[:_MARKS_READ] if not _is_prose(node)]
    head = [node.html or "" for node in parser.css("head > meta,head > link")]  # linked data dates other pages, too
    page = f"<html><head>{''.join(head)}</head><body>{''.join(marks)}</body></html>"
    return find_date(page, original_date=True, extensive_search=False)


def _is_prose(mark: LexborNode) -> bool:
    around = mark.parent
    is_bare = mark.tag == "time" and not mark.attributes.keys() & {"class", "itemprop", "pubdate"}
    if is_bare and around is not None and around.tag == "p":
        return len(around.text()) > _BYLINE_CHARACTERS
    return len(mark.text()) > _MARK_CHARACTERS


def _choose_title(parser: LexborHTMLParser, found: str | None) -> str | None:
    """The title that was found, unless the page's own title differs: it may be the heading of another part."""
    node, shared = parser.css_first("title"), parser.css_first('meta[property="og:title"]')
    own = None if node is None else one_line(node.text(), MAX_TITLE_CHARACTERS)
    names = _words(own) | _words(None if shared is None else shared.attributes.get("content"))
    return own if len(_words(own)) >= _TITLE_WORDS and not _words(found) <= names else found


def _words(text: str | None) -> set[str]:
    return set(re.findall(r"\w+", (text or "").casefold()))


def _language(parser: LexborHTMLParser) -> str | None:
    """The language that the page states, for itself or for its article."""
    for selector, name in _LANGUAGES:
        node = parser.css_first(selector)
        stated = None if node is None else one_line(node.attributes.get(name))
        if stated:
            return stated
    for item in linked_data(parser):
        if stated := one_line(_tag(item.get("inLanguage"))):
            return stated
    return None


def _tag(language: object) -> str | None:
    """The language tag in linked data: a string, an item with that string, or a list of one of these."""
    match language[0] if isinstance(language, list) and len(language) == 1 else language:
        case str(tag) | {"alternateName": str(tag)} | {"@value": str(tag)} | {"@id": str(tag)} | {"name": str(tag)}:
            return tag
        case _:
            return None


def _pdf(data: bytes) -> ReadArticle:
    read = read_pdf(data)
    if not read.whole:
        raise Unreadable(f"the PDF has more than {MAX_PAGES} pages")
    title, author = read.title or "", read.author or ""
    return ReadArticle(
        read.text,
        None if _NO_TITLE.match(title) else one_line(title, MAX_TITLE_CHARACTERS),
        None if _NO_AUTHOR.match(author) else author,
        published=None if read.created is None else read.created.isoformat(),
    )
