"""What keeps readers out is recognised, and what merely stands beside an article is not."""

from __future__ import annotations

import pytest

from kit.documents.article import read_article
from kit.documents.walls import TEASER_LETTERS, Wall, find_redirect

ASKED = "https://news.example/2026/bridge"
STORY = "The council expects eighteen thousand vehicles a day on the harbour bridge this year. " * 4
LONG = "<p>" + STORY * 8 + "</p>"


def wall(body: str, head: str = "") -> Wall | None:
    page = f"<!doctype html><html><head><title>Bridge</title>{head}</head><body><article>{body}</article></body></html>"
    return read_article(page.encode(), "text/html").wall


def linked(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (linked('{"isAccessibleForFree": false}'), "payment"),
        (linked('{"isAccessibleForFree": "False"}'), "payment"),
        (linked('{"isAccessibleForFree": "http://schema.org/False"}'), "payment"),
        (linked('[{"@type": "WebPage"}, {"isAccessibleForFree": " false "}]'), "payment"),
        (linked('{"@graph": {"isAccessibleForFree": false}}'), "payment"),
        (linked('{"@type": "WebPage", "mainEntity": {"isAccessibleForFree": false}}'), "payment"),
        (linked('//<![CDATA[\n{"isAccessibleForFree": false}\n//]]>'), "payment"),
        (linked('[{"@graph": [{}, [{"isAccessibleForFree": false}]]}]'), "payment"),
        (linked('{"description": "a\nb", "isAccessibleForFree": false}'), "payment"),
        (linked('{"hasPart": {"isAccessibleForFree": false, "cssSelector": "article p"}}'), "payment"),
        (linked('{"hasPart": {"isAccessibleForFree": false, "cssSelector": "a[[["}}'), "payment"),
        (linked('{"hasPart": {"isAccessibleForFree": false}}'), "payment"),
        ('<meta itemprop="isAccessibleForFree" content="False">', "payment"),
        ('<meta property="article:content_tier" content="locked">', "payment"),
        (linked('{"hasPart": {"isAccessibleForFree": false, "cssSelector": ".gone"}}'), None),
        (linked('{"isAccessibleForFree": true, "hasPart": ["x", null, {"isAccessibleForFree": "True"}]}'), None),
        (linked('{"isAccessibleForFree": null, "itemListElement": [{"isAccessibleForFree": false}]}'), None),
        ('<meta itemprop="isAccessibleForFree" content="true">', None),
        ('<meta property="article:content_tier" content="metered">', None),
    ],
)
def test_a_page_is_believed_about_its_price(head: str, found: Wall | None) -> None:
    assert wall(LONG, head) == found


@pytest.mark.parametrize(
    "words",
    [
        "Subscribe to continue reading.",
        "To keep reading, create a free account.",
        "This article is for subscribers only.",
        "Sign in to read the full story.",
        "Um den ganzen Artikel weiterzulesen, brauchen Sie ein Abo.",
        "Nur für Abonnenten",
        "Cet article est réservé aux abonnés.",
        "Il vous reste 78 % de cet article à lire.",
        "Contenido exclusivo para suscriptores",
        "Para seguir leyendo, suscríbete.",
        "Riservato agli abbonati",
        "Conteúdo exclusivo para assinantes",
        "Dit artikel is alleen voor abonnees.",
        "この記事は会員限定です。",
        "订阅后可继续阅读",
    ],
)
def test_words_of_payment_count_below_a_teaser_only(words: str) -> None:
    assert wall(f"<p>{STORY}</p></article><div>{words}</div><article>") == "payment"
    assert wall(f"{LONG}</article><div>{words}</div><article>") is None
    assert len(LONG) > TEASER_LETTERS


@pytest.mark.parametrize(
    "words",
    [
        "Subscribe to our newsletter.",
        "Already a subscriber? Log in",
        "Continue reading the main story",
        "The paper has lost ten thousand subscribers, its members were told.",
        "Jetzt abonnieren",
        "Neu für unsere Abonnenten: das Rätsel der Woche",
    ],
)
def test_offers_beside_a_short_article_are_no_wall(words: str) -> None:
    assert wall(f"<p>{STORY}</p></article><div>{words}</div><article>") is None


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("Accept all", "We and our partners use cookies to show you advertising."),
        ("I agree", "Your privacy is important to us, and you can change your mind."),
        ("Alle akzeptieren", "Wir und unsere Partner verarbeiten personenbezogene Daten auf Ihrem Gerät."),
        ("Tout accepter", "Nous et nos partenaires utilisons des cookies."),
        ("Aceptar todo", "Utilizamos cookies y pedimos su consentimiento."),
        ("Accetta tutti", "Noi e i nostri partner utilizziamo cookie."),
        ("Accepteren", "Wij vragen je toestemming voor cookies."),
        ("同意する", "当サイトはクッキーを使用します。"),
    ],
)
def test_a_dialogue_in_place_of_the_article_is_a_wall_and_beside_it_none(button: str, words: str) -> None:
    dialogue = f"<p>{words}</p><button>{button}</button>"
    assert wall(dialogue) == "consent"
    assert wall(f"<p>{f'{words} ' * 8}</p><button>{button}</button>") == "consent", "also one of many words"
    assert wall(f"<p>{STORY}</p></article><div>{dialogue}</div><article>") is None
    assert wall(f"<p>{words}</p>") is None, "without a button nothing is asked"


def test_a_password_is_asked_for_in_place_of_the_article_or_beside_it() -> None:
    form = "<form><input type=password><button>Log in</button></form>"
    assert wall(form) == "login"
    assert wall(f"<p>{STORY}</p>{form}") is None


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("404", "missing"),
        ("404 Not Found", "missing"),
        ("404 - Page not found", "missing"),
        ("Error 404 (Not Found)!!1", "missing"),
        ("Page not found | The Gazette", "missing"),
        ("The Gazette — Seite nicht gefunden", "missing"),
        ("Just a moment...", "robot"),
        ("Attention Required! | Cloudflare", "robot"),
        ("Access Denied", "robot"),
        ("Wreck not found after three weeks of search", None),
        ("Not found: a missing painting", None),
        ("Just a moment in time", None),
        ("Peugeot 404", None),
        ("Bridge", None),
    ],
)
def test_a_title_says_that_a_short_page_is_no_article(title: str, found: Wall | None) -> None:
    page = "<html><head><title>{}</title></head><body><article><p>{}</p></article></body></html>"
    assert read_article(page.format(title, STORY).encode(), "text/html").wall == found
    assert read_article(page.format(title, LONG).encode(), "text/html").wall is None


@pytest.mark.parametrize(
    ("answered", "found"),
    [
        ("https://news.example/login?next=/2026/bridge", "login"),
        ("https://news.example/account/sign-in/", "login"),
        ("https://news.example/anmelden.html", "login"),
        ("https://login.news.example/", "login"),
        ("https://accounts.news.example/start", "login"),
        ("https://consent.news.example/?continue=x", "consent"),
        ("https://guce.news.example/v1", "consent"),
        ("https://myprivacy.other.example/x", "consent"),
        ("https://news.example/collectConsent?sessionId=1", "consent"),
        ("https://news.example/consent-wall/", "consent"),
        ("https://news.example/2026/bridge?from=consent", None),
        ("https://www.news.example/2026/bridge/", None),
        ("https://news.example/2026/login-trouble-at-banks", None),
        ("https://news.example/2026/consent-of-the-governed", None),
        ("https://identity.news.example/2026/bridge", None),
        ("https://news.example/", "missing"),
        ("https://www.news.example", "missing"),
        ("https://news.example/de/", "missing"),
        ("https://news.example/en-gb", "missing"),
        ("https://news.example/index.html", "missing"),
        ("https://news.example/?p=1234", None),
        ("https://news.example/bridge", None),
        ("https://elsewhere.example/", None),
    ],
)
def test_a_redirect_to_a_gate(answered: str, found: Wall | None) -> None:
    assert find_redirect(ASKED, answered) == found


@pytest.mark.parametrize(
    "asked", ["https://privacy.example/essay", "https://consent.example/consent", "https://a.example/"]
)
def test_an_article_that_was_asked_for_lies_where_it_lies(asked: str) -> None:
    assert find_redirect(asked, asked) is None
