"""A page of 100,000 characters with findings all over it, and how soon these are underlined."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from playwright.async_api import Page, Route

from tests.extension import posts
from tests.extension.chromium import Reader
from tests.extension.posts import Post
from tests.support.sites import Sites

LENGTH: Final = 100_000
"""Characters; words so long that they are fewer than what is checked."""
FINDINGS: Final = 20
SENTENCES: Final = 5
"""In a paragraph."""
WORDS: Final = 12
"""In a sentence."""
STATUS: Final = "post.recordViewAndGetStatus"
SYLLABLES: Final = ("ver", "tan", "olo", "gis", "mer", "ent", "pol", "ari", "cos", "ded", "ust", "ing", "eff", "ran")
CLOCK: Final = """(() => {
  const times = (globalThis.times = {});
  chrome.runtime.onMessage.addListener(({ type, payload }) => {
    if (type === 'STATE' && payload.status.state.kind === 'investigated') times.answered ??= performance.now();
  });
  const { set } = HighlightRegistry.prototype;
  HighlightRegistry.prototype.set = function (...given) {
    if (times.requested === undefined) {
      times.requested = true;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { times.painted = performance.now(); };
      requestAnimationFrame(() => port2.postMessage(null));
    }
    return set.apply(this, given);
  };
})()"""
"""Runs in the content script's world: the page's own, and what it measures of itself, stay as they are."""


@dataclass(frozen=True)
class LongPage:
    """The post, whose `wrong` sentences are what is found in it."""

    post: Post
    answers: dict[str, object]
    """Of the server, by procedure."""


def long_page(*, every: int) -> LongPage:
    """An article in which one word of this many is a link."""
    random = Random(7)
    sentences: list[str] = []
    while sum(len(one) + 1 for one in sentences) < LENGTH:
        words = ["".join(random.choices(SYLLABLES, k=random.randint(3, 4))) for _ in range(WORDS)]
        sentences.append(" ".join(words).capitalize() + ".")
    marked = [_with_links(one, every) for one in sentences]
    body = "".join(f"<p>{' '.join(marked[i : i + SENTENCES])}</p>" for i in range(0, len(marked), SENTENCES))
    wrong = sentences[:: len(sentences) // FINDINGS][:FINDINGS]
    return LongPage(replace(posts.wikipedia(Sites(), body=body), wrong=tuple(wrong)), answers_with(wrong))


def _with_links(sentence: str, every: int) -> str:
    words = sentence.split(" ")
    return " ".join(
        f'<a href="/wiki/{word}"><span>{word}</span></a>' if index % every == 0 else word
        for index, word in enumerate(words)
    )


def answers_with(quotes: Iterable[str]) -> dict[str, object]:
    """What a server says that has found these sentences wrong."""
    claims = [
        {
            "id": f"claim-{index}",
            "text": quote,
            "context": quote,
            "summary": "Wrong.",
            "reasoning": "It is not so.",
            "sources": [{"url": "https://source.example/", "title": "A source", "snippet": "It is not so."}],
        }
        for index, quote in enumerate(quotes)
    ]
    return {
        "post.registerObservedVersion": {
            "platform": "WIKIPEDIA",
            "externalId": "en:1",
            "versionHash": hashlib.sha256(b"long").hexdigest(),
            "postVersionId": "long",
            "provenance": "SERVER_VERIFIED",
        },
        STATUS: {"investigationState": "INVESTIGATED", "provenance": "SERVER_VERIFIED", "claims": claims},
    }


async def first_paint(running: Reader, post: Post) -> float:
    """Milliseconds from the moment the page's script has its findings until they are painted, in a new tab."""
    measured = asyncio.Event()

    async def hold(route: Route) -> None:
        await measured.wait()
        await route.fallback()

    await running.context.route(f"**/{STATUS}", hold)
    try:
        page = await running.open(post)
        await running.own(page, CLOCK)
        await running.until(lambda: running.state(page), "the server is asked")
        measured.set()
        return await _painted(running, page)
    finally:
        measured.set()
        await running.context.unroute(f"**/{STATUS}", hold)


async def _painted(running: Reader, page: Page) -> float:
    async def painted() -> float | None:
        took: float | None = await running.own(page, "times.painted ? times.painted - times.answered : null")
        return took

    took = await running.until(painted, "the findings are painted")
    assert took is not None
    await page.close()
    return took
