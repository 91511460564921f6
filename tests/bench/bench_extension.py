"""What the content script costs a page: its share of the main thread on recorded articles, in the built package.

Chromium's own trace is read: every sample taken inside the content script counts, with whatever the browser did for it,
and is laid to the task it was taken in. The worst task is what a reader can feel.

The recorded articles are longer than what is checked: they are read and skipped. So each is also measured cut to a
length that is checked, with findings underlined in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Page
from selectolax.lexbor import LexborHTMLParser

from platforms.wikipedia_text import article_text
from tests.bench.report import Report, at_most
from tests.extension.chromium import EXTENSION, Reader, reader
from tests.extension.posts import Post
from tests.support.recorded import RECORDED

ROUNDS = 7
FINDINGS = 20
WORDS = 9_500
"""A little less than what is checked."""
SCRIPT = "/content-scripts/content.js"
SERVER = "http://127.0.0.1:9"
CATEGORIES = ("disabled-by-default-devtools.timeline", "disabled-by-default-v8.cpu_profiler")

Event = dict[str, Any]


def bench(folder: Path, report: Report) -> None:
    """Load each recorded article with findings on it, several times."""
    report.head("extension")
    file, built = RECORDED / "wikipedia_pages.json", EXTENSION / ".output" / "chrome-mv3"
    if not file.exists() or not (built / "manifest.json").exists():
        print("  not run: it needs the recorded pages, and the package (make extension)")
        return
    package = shutil.copytree(built, folder / "extension")
    for case, rounds in asyncio.run(_measured(package, json.loads(file.read_text())["cases"])).items():
        totals, longest = [sum(tasks) for tasks in rounds], [max(tasks, default=0.0) for tasks in rounds]
        report.line(f"content script, {case}, in all", median(totals), "ms", target=at_most(120))
        report.line("  its longest task, median", median(longest), "ms", target=at_most(50))
        report.line("  its longest task of all rounds", max(longest), "ms")


async def _measured(package: Path, cases: Iterable[Event]) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    async with reader(package) as running:
        await _allow_server(running)
        for case in cases:
            url, whole = case["input"]["sourceUrl"], case["input"]["pageHtml"]
            cut, text = _cut(whole)
            running.answers |= _answers(_sentences(text))
            for what, html in (("whole", whole), ("cut", cut)):
                rounds = [await _round(running, Post(url, html)) for _ in range(ROUNDS)]
                found[f"{case['id']}, {what}"] = rounds
    return found


def _cut(html: str) -> tuple[str, str]:
    """An article without its end and its players, and its text."""
    page = LexborHTMLParser(html)
    for player in page.css("audio, video, source, .mw-tmh-player, .mw-tmh-play"):
        player.decompose()
    article = page.css_first("#mw-content-text .mw-parser-output")
    assert article is not None
    parts = list(article.iter())
    while len(text := article_text(article.html or "")) > 0 and len(text.split()) > WORDS:
        parts.pop().decompose()
    return page.html or "", text


async def _allow_server(running: Reader) -> None:
    await running.answer_yes("http://127.0.0.1/*")
    session = await running.context.new_cdp_session(running.desk)
    asked = "chrome.permissions.request({ origins: ['http://127.0.0.1/*'] })"
    await session.send("Runtime.evaluate", {"expression": asked, "userGesture": True, "awaitPromise": True})
    await running.settle(apiBaseUrl=SERVER)


async def _round(running: Reader, post: Post) -> list[float]:
    """Milliseconds of the content script in each task of the page that has any."""
    running.pages[post.url] = post.html
    page = await running.context.new_page()
    events = await _traced(running, page, post.url)
    await page.close()
    return tasks_of(events)


async def _traced(running: Reader, page: Page, url: str) -> list[Event]:
    events: list[Event] = []
    complete = asyncio.Event()
    session = await running.context.new_cdp_session(page)
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    session.on("Tracing.tracingComplete", lambda _: complete.set())
    config = {"includedCategories": list(CATEGORIES), "excludedCategories": ["*"]}
    await session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
    await page.goto(url)
    await running.until(
        lambda: running.state(page), "the page is judged", lambda state: state in {"skipped", "investigated"}
    )
    if await running.state(page) == "investigated":
        await page.wait_for_function("() => [...CSS.highlights.values()].some((one) => one.size > 0)")
    await session.send("Tracing.end")
    await complete.wait()
    return events


def tasks_of(events: Iterable[Event]) -> list[float]:
    """Lay the samples of the content script to the tasks of their thread; milliseconds of each task with any."""
    tasks: dict[tuple[int, int], list[tuple[int, int, float]]] = defaultdict(list)
    profiles: dict[tuple[int, str], tuple[tuple[int, int], int]] = {}
    chunks: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in events:
        match event["name"]:
            case "RunTask" if event["ph"] == "X" and event.get("dur"):
                # Time on a core: what a task spends waiting for one says nothing about us.
                share = min(1.0, event.get("tdur", event["dur"]) / event["dur"])
                tasks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], share))
            case "Profile":
                thread = event["pid"], event["tid"]
                profiles[event["pid"], event["id"]] = thread, event["args"]["data"]["startTime"]
            case "ProfileChunk":
                chunks[event["pid"], event["id"]].append(event["args"]["data"])
    spent: dict[tuple[tuple[int, int], int], float] = defaultdict(float)
    for profile, (thread, began) in profiles.items():
        spans = sorted(tasks[thread])
        starts = [start for start, _, _ in spans]
        for at, took in _samples(began, chunks[profile]):
            index = bisect_right(starts, at) - 1
            if index >= 0 and at < spans[index][1]:
                spent[thread, index] += took / 1000 * spans[index][2]
    return list(spent.values())


def _samples(began: int, chunks: Iterable[Event]) -> Iterable[tuple[int, int]]:
    """When each sample inside the content script was taken, and how long until the next; microseconds."""
    inside: dict[int, bool] = {}
    taken: list[tuple[int, int]] = []
    at = began
    for chunk in chunks:
        profile = chunk.get("cpuProfile", {})
        for node in profile.get("nodes", ()):
            ours = node["callFrame"].get("url", "").endswith(SCRIPT)
            inside[node["id"]] = ours or inside.get(node.get("parent", -1), False)
        for sample, delta in zip(profile.get("samples", ()), chunk.get("timeDeltas", ()), strict=False):
            at += delta
            taken.append((at, sample))
    for (start, sample), (end, _) in pairwise(taken):
        if inside.get(sample, False):
            yield start, end - start


def _sentences(text: str) -> list[str]:
    """Sentences from all over the text, each of which stands there once."""
    found = [
        one for one in re.split(r"(?<=[a-z]{4}\.) (?=[A-Z])", text) if 60 < len(one) < 200 and text.count(one) == 1
    ]
    return found[:: max(1, len(found) // FINDINGS)][:FINDINGS]


def _answers(quotes: Iterable[str]) -> dict[str, object]:
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
            "versionHash": hashlib.sha256(b"bench").hexdigest(),
            "postVersionId": "bench",
            "provenance": "SERVER_VERIFIED",
        },
        "post.recordViewAndGetStatus": {
            "investigationState": "INVESTIGATED",
            "provenance": "SERVER_VERIFIED",
            "claims": claims,
        },
    }
