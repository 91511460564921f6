"""What keeps a reader from an article: a login, a payment, a consent that is asked for first, or that it is not there.

A page may carry a banner or a form beside its article. So a page is believed when it says that its article is not free;
its words count only where there is hardly any article.
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
"""Less is no article but a heading, a caption or an error message."""
TEASER_LETTERS: Final = 2_000
"""What is shown in front of a wall, and a dialogue about consent, are hardly longer."""
_DIALOGUE: Final = 1 / 3
"""The share of its letters that speak of consent to the reader; the rest are purposes and partners."""
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
"""Where sites send those who ask for an article that is gone: to their front page, or to that of a language."""
_HOSTS: Final[dict[str, Wall]] = {
    **dict.fromkeys(("account", "accounts", "auth", "id", "idp", "login", "secure", "signin", "sso"), "login"),
    **dict.fromkeys(("cmp", "consent", "guce", "myprivacy", "privacy", "privacy-mgmt", "zustimmung"), "consent"),
}
"""First names of hosts to which sites send readers who shall log in or consent."""
_PARTS_OF_TITLE: Final = re.compile(r"\s+[|·–—-]\s+")
_LETTER: Final = re.compile(r"\w")


def count_letters(text: str) -> int:
    """Letters and digits: words are not separated in every language."""
    return sum(1 for _ in _LETTER.finditer(text))


def find_redirect(asked: str, answered: str) -> Wall | None:
    """What an address asks for instead of showing an article, if it is another one than was asked for.

    A front page stands for an article that is gone only if the same site has sent there: short links lead to any page.
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
    """What the page says of itself, or shows instead of its article. Removes what is invisible from the parsed page."""
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
    """How many letters are in lines that speak to the reader about consent."""
    return sum(count_letters(line) for line in text.split("\n") if CONSENT.search(line) and ADDRESS.search(line))


def _is_sold(item: dict[str, object], parser: LexborHTMLParser) -> bool:
    """Whether an article, or a part of it that the page holds, is said not to be free. Source: schema.org, paywalls."""
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
    """Whether the page has what a selector names; one that cannot be read counts as having it."""
    from selectolax.lexbor import SelectolaxError

    try:
        return not isinstance(selector, str) or parser.css_first(selector) is not None
    except SelectolaxError:
        return True
