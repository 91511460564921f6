"""What readers see in these tests: posts on all sites, with sentences that the demo catalogue knows to be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from platforms import get_platform
from tests.support.sites import BLOCKED, Sites, WikiPage

BRAIN = "Humans use only 10 percent of their brains."
WALL = "The Great Wall of China is visible from the Moon with the naked eye."
GOLDFISH = "A goldfish can only remember things for three seconds."
LIGHTNING = "Lightning never strikes the same place twice."
BATS = "Bats are blind."
FIVE = (BRAIN, WALL, GOLDFISH, LIGHTNING, BATS)

_numbers = count(1)


@dataclass(frozen=True)
class Article:
    """One revision of one Wikipedia page, as its site serves it and as a reader's browser sends it."""

    html: str
    observation: dict[str, Any]


def prose(*sentences: str) -> str:
    """A text with these sentences in it, and with nothing else to object to."""
    filler = "The second paragraph of these notes describes the weather on the day of the walk and nothing else."
    return f" {filler} ".join(("The morning began in the library of the town.", *sentences, "Then it rained."))


def on_wikipedia(
    sites: Sites, *sentences: str, page_id: int | None = None, title: str = "A walk", aside: str = ""
) -> Article:
    """A new revision of a page, of a new page unless told; the site serves it from now on."""
    page_id = page_id or 900_000 + next(_numbers)
    revision = 70_000_000 + next(_numbers)
    html = (
        f'<div class="mw-parser-output"><p>{prose(*sentences)}</p><p>{aside or f"Note {revision}."}</p>'
        '<h2 id="References">References</h2><ul><li>Nobody counts this.</li></ul></div>'
    )
    sites.wikipedia[str(revision)] = WikiPage(page_id, html, title)
    return Article(
        html,
        {
            "platform": "WIKIPEDIA",
            "url": f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}",
            "observedContentText": get_platform("WIKIPEDIA").extract_text(html),
            "metadata": {
                "language": "en",
                "title": title.replace(" ", "_"),
                "pageId": str(page_id),
                "revisionId": str(revision),
            },
        },
    )


def on_x(*sentences: str) -> dict[str, Any]:
    """A new post."""
    number = 1_700_000_000_000_000_000 + next(_numbers)
    text = prose(*sentences)
    return {
        "platform": "X",
        "externalId": str(number),
        "url": f"https://x.com/walker/status/{number}",
        "observedContentText": text,
        "metadata": {"authorHandle": "walker", "authorDisplayName": "A walker", "text": text, "mediaUrls": []},
    }


def on_substack(*sentences: str) -> dict[str, Any]:
    """A new post that its site keeps from programs."""
    number = next(_numbers)
    return {
        "platform": "SUBSTACK",
        "externalId": str(140_000_000 + number),
        "url": f"https://walks.substack.com/p/{BLOCKED}-{number}",
        "observedContentText": prose(*sentences),
        "metadata": {
            "substackPostId": str(140_000_000 + number),
            "publicationSubdomain": "walks",
            "slug": f"{BLOCKED}-{number}",
            "title": "A walk",
            "authorName": f"Walker {number}",
        },
    }


def on_lesswrong(*sentences: str) -> dict[str, Any]:
    """A new post that its site keeps from programs; the reader sends its HTML."""
    number = next(_numbers)
    return {
        "platform": "LESSWRONG",
        "externalId": f"{BLOCKED}{number:010}",
        "url": f"https://www.lesswrong.com/posts/{BLOCKED}{number:010}/a-walk",
        "metadata": {
            "slug": "a-walk",
            "title": "A walk",
            "htmlContent": f"<p>{prose(*sentences)}</p><p>Note {number}.</p>",
            "authorName": "A walker",
            "tags": ["walking"],
        },
    }
