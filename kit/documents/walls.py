"""Detect what keeps a reader from an article: a login, a payment, a request for consent, or that it is missing.

A page may have a banner or a form beside its article. So markup that says that the article is not free always counts;
the page's words count only if there is hardly any article.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import SplitResult, urlsplit

from kit.documents.decoding import one_line
from kit.documents.readable import linked_data, visible_text
from kit.documents.wall_words import ADDRESS, AGREE, CONSENT, MISSING, PAYMENT, ROBOT

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

Wall = Literal["login", "payment", "consent", "robot", "missing"]

MIN_LETTERS: Final = 100
"""A shorter text is not an article but a heading, a caption or an error message."""
TEASER_LETTERS: Final = 2_000
"""A text shown in front of a wall, or a dialogue about consent, is hardly longer."""
_DIALOGUE: Final = 1 / 3
"""The share of a dialogue's letters in lines that ask the reader for consent; the rest are purposes and partners."""
_MARKS: Final = (
    'meta[itemprop="isAccessibleForFree"][content="false" i],meta[property="article:content_tier"][content="locked" i]'
)
_BUTTONS: Final = "button,a,[role=button],input[type=submit],input[type=button]"
_LOGIN_PATH: Final = re.compile(
    r"/(log-?in|sign-?in|sign-?on|sso|oauth2?|subscribe|paywall|anmelden|connexion)(\.\w+)?(?=/|$)", re.IGNORECASE
)
_CONSENT_PATH: Final = re.compile(
    r"/(cookie-?wall|privacy-?(gate|wall)|consent(-?(wall|gate|management))?|collectconsent|zustimmung)(\.\w+)?(?=/|$)",
    re.IGNORECASE,
)
_FRONT_PATH: Final = re.compile(r"/?((index|default|home)(\.\w+)?|[a-z]{2}([_-][a-z]{2})?)?/?", re.IGNORECASE)
"""The path of a front page, or that of one language, where sites redirect requests for an article that is gone."""
_HOSTS: Final[dict[str, Wall]] = {
    **dict.fromkeys(("account", "accounts", "auth", "id", "idp", "login", "secure", "signin", "sso"), "login"),
    **dict.fromkeys(("cmp", "consent", "guce", "myprivacy", "privacy", "privacy-mgmt", "zustimmung"), "consent"),
}
"""First labels of hosts to which sites redirect readers who must log in or consent."""
_PARTS_OF_TITLE: Final = re.compile(r"\s+[|·–—-]\s+")
_LETTER: Final = re.compile(r"\w")


def count_letters(text: str) -> int:
    """The number of letters and digits; not of words, which some languages do not separate."""
    return sum(1 for _ in _LETTER.finditer(text))


def find_redirect(asked: str, answered: str) -> Wall | None:
    """The wall that a request was redirected to, judged by the two addresses; None if there is none.

    A redirect to a front page means a missing article only within one site: a short link may lead to any page.
    """
    before, after = urlsplit(asked), urlsplit(answered)
    if _is_front(after) and not _is_front(before) and _site(before) == _site(after):
        return "missing"
    if _LOGIN_PATH.search(after.path):
        return "login"
    if (before.hostname, before.path) == (after.hostname, after.path):
        return None
    if _CONSENT_PATH.search(after.path):
        return "consent"
    return None if before.hostname == after.hostname else _HOSTS.get((after.hostname or "").partition(".")[0])


def _is_front(address: SplitResult) -> bool:
    return not address.query and _FRONT_PATH.fullmatch(address.path) is not None


def _site(address: SplitResult) -> str:
    return (address.hostname or "").removeprefix("www.")


def find_wall(parser: LexborHTMLParser, article: str) -> Wall | None:
    """The wall that a page states or shows instead of its article. Removes invisible elements from the parsed page."""
    if parser.css_first(_MARKS) is not None or any(_is_sold(item, parser) for item in linked_data(parser)):
        return "payment"
    letters = count_letters(article)
    if letters >= TEASER_LETTERS:
        return None
    for part in _title(parser):
        if MISSING.fullmatch(part):
            return "missing"
        if ROBOT.fullmatch(part):
            return "robot"
    buttons = [node.text() or node.attributes.get("value") or "" for node in parser.css(_BUTTONS)]
    asks_password = parser.css_first("input[type=password]") is not None
    visible = visible_text(parser)
    if PAYMENT.search(visible):
        return "payment"
    if any(AGREE.fullmatch(button.strip()) for button in buttons):
        spoken = _letters_of_consent(article) if letters >= MIN_LETTERS else _letters_of_consent(visible)
        if spoken > (letters * _DIALOGUE if letters >= MIN_LETTERS else 0):
            return "consent"
    return "login" if asks_password and letters < MIN_LETTERS else None


def _title(parser: LexborHTMLParser) -> list[str]:
    """The parts of a page's title, one of which is often its site's name."""
    node = parser.css_first("title")
    title = None if node is None else one_line(node.text())
    return [part.strip(" .!…") for part in _PARTS_OF_TITLE.split(title or "")]


def _letters_of_consent(text: str) -> int:
    """The number of letters in lines that ask the reader for consent."""
    return sum(count_letters(line) for line in text.split("\n") if CONSENT.search(line) and ADDRESS.search(line))


def _is_sold(item: dict[str, object], parser: LexborHTMLParser) -> bool:
    """Whether an item, or a part of it that is on the page, is marked as not free. Source: schema.org, paywalls."""
    parts = item.get("hasPart")
    return _is_false(item) or any(
        _is_false(part) and _holds(parser, part.get("cssSelector"))
        for part in (parts if isinstance(parts, list) else [parts])
        if isinstance(part, dict)
    )


def _is_false(item: dict[str, object]) -> bool:
    stated = item.get("isAccessibleForFree")
    return stated is False or (isinstance(stated, str) and stated.strip().lower().rpartition("/")[2] == "false")


def _holds(parser: LexborHTMLParser, selector: object) -> bool:
    """Whether the page has an element that a selector matches; an invalid selector counts as a match."""
    from selectolax.lexbor import SelectolaxError

    try:
        return not isinstance(selector, str) or parser.css_first(selector) is not None
    except SelectolaxError:
        return True
