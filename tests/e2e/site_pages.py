"""Pages that the stand-ins serve, each with what a reader's browser sends of it; and the system they talk to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

import httpx

from platforms import get_platform
from platforms.text import html_to_text
from tests.support.extension_client import Extension, Json
from tests.support.oracle import Oracle
from tests.support.sites import Sites, WikiPage
from tests.support.system import Process, System

DEADLINE_S = 5.0
"""What the verifier may take."""
ANSWER_WITHIN_S = DEADLINE_S + 4.0
"""What a reader may wait, with everything else that happens on a busy machine."""
WRONG = "A goldfish can only remember things for three seconds."

numbers = count(1)


@dataclass(frozen=True)
class Page:
    """A page that its site serves, and what a reader's browser sends of it."""

    site: str
    external_id: str
    text: str
    observation: Json = field(repr=False)

    def seen_anew(self) -> Json:
        """The same page in another reader's browser: the same text, another observation."""
        return {**self.observation, "observedImageUrls": [f"https://img.example/{next(numbers)}.png"]}


def wikipedia(sites: Sites, html: str = "", language: str = "en", host: str = "wikipedia.org") -> Page:
    number = next(numbers)
    html = (
        html or f"<div class='mw-parser-output'><p>The morning began in the library. {WRONG} Note {number}.</p></div>"
    )
    sites.wikipedia[str(70_000 + number)] = WikiPage(2 * number, html, "A walk")
    metadata = {"language": language, "title": "A_walk", "pageId": str(2 * number), "revisionId": str(70_000 + number)}
    text = get_platform("WIKIPEDIA").extract_text(html)
    observation = {
        "platform": "WIKIPEDIA",
        "url": f"https://{language}.{host}/wiki/A_walk",
        "observedContentText": text,
        "metadata": metadata,
    }
    return Page("WIKIPEDIA", f"{language}:{2 * number}", text, observation)


def lesswrong(sites: Sites) -> Page:
    id_, html = f"walk{next(numbers):013}", f"<p>The morning began.</p><p>Note {next(numbers)}.</p>"
    sites.lesswrong[id_] = html
    observation = {
        "platform": "LESSWRONG",
        "externalId": id_,
        "url": f"https://www.lesswrong.com/posts/{id_}/a-walk",
        "metadata": {"slug": "a-walk", "title": "A walk", "htmlContent": html, "authorName": "A walker", "tags": []},
    }
    return Page("LESSWRONG", id_, html_to_text(html), observation)


def substack(sites: Sites) -> Page:
    number = 140_000_000 + 2 * next(numbers)
    slug, html = f"walk-{number}", f"<p>The morning began.</p><p>Note {number}.</p>"
    sites.substack[slug] = number, html
    observation = {
        "platform": "SUBSTACK",
        "externalId": str(number),
        "url": f"https://walks.substack.com/p/{slug}",
        "observedContentText": html_to_text(html),
        "metadata": {
            "substackPostId": str(number),
            "publicationSubdomain": "walks",
            "slug": slug,
            "title": "A walk",
            "authorName": "A walker",
        },
    }
    return Page("SUBSTACK", str(number), html_to_text(html), observation)


Make = Callable[[Sites], Page]


@dataclass(frozen=True)
class World:
    """The system, the sites it asks, and a look behind its back."""

    system: System
    process: Process
    sites: Sites
    oracle: Oracle

    def reader(self, **given: str) -> Extension:
        return Extension(self.system.url, **given)

    async def failure(self, version: Json) -> tuple[str, str]:
        """Why the site did not confirm the one observation of a version, as an operator finds it."""
        found = await self.oracle.value(
            "SELECT reason || '|' || detail FROM readmodel.verification_failure WHERE post_version_id = %s",
            version["postVersionId"],
        )
        reason, _, detail = (found or "").partition("|")
        return reason, detail

    async def anomaly(self, kind: str, external_id: str) -> tuple[str, str] | None:
        """What reader and site said, where they contradicted each other about a post."""
        found = await self.oracle.value(
            "SELECT observed || ' / ' || canonical FROM readmodel.integrity_anomaly "
            "WHERE kind = %s AND external_id = %s",
            kind,
            external_id,
        )
        return None if found is None else tuple(found.split(" / "))

    async def versions(self, external_id: str) -> int:
        """How many versions a post has."""
        found: int = await self.oracle.value(
            "SELECT count(*) FROM readmodel.post_version v JOIN readmodel.post p ON p.id = v.post_id "
            "WHERE p.external_id = %s",
            external_id,
        )
        return found

    async def metric(self, series: str) -> float:
        """A number as monitoring sees it; 0 if it was never counted."""
        async with httpx.AsyncClient(trust_env=False, verify=False) as client:
            lines = (await client.get(f"{self.process.operations_url}/metrics")).text.splitlines()
        return next((float(line.removeprefix(series)) for line in lines if line.startswith(f"{series} ")), 0.0)

    async def answered(self, observation: Json) -> Json:
        """The answer to a reader, who does not wait for long."""
        async with self.reader() as reader:
            began = monotonic()
            version = await reader.register(observation)
            assert monotonic() - began < ANSWER_WITHIN_S
        return version
