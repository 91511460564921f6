"""What the content script costs a page, in the built package: its share of the main thread, and how late findings show.

The worst task is what a reader can feel; the time from an answer to its underlines is what a reader sees. Both are
measured on a generated page of 100,000 characters, sparse and dense in elements.

Recorded articles are longer than what is checked: they are read and skipped. So each is also measured cut to a length
that is checked, with findings underlined in it.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from platforms.wikipedia_text import article_text
from tests.bench.report import Report, at_most
from tests.extension.chromium import EXTENSION, Reader, reader
from tests.extension.long_page import answers_with, first_paint, long_page
from tests.extension.posts import Post
from tests.extension.tracing import script_tasks
from tests.support.recorded import RECORDED

ROUNDS = 7
FINDINGS = 20
WORDS = 9_500
"""A little less than what is checked."""
SERVER = "http://127.0.0.1:9"
LONG = {"100,000 characters": 8, "100,000 characters, all links": 1}
"""One word in how many is a link."""


def bench(folder: Path, report: Report) -> None:
    """Load long pages with findings on them, several times, and each recorded article."""
    report.head("extension")
    file, built = RECORDED / "wikipedia_pages.json", EXTENSION / ".output" / "chrome-mv3"
    if not (built / "manifest.json").exists():
        print("  not run: it needs the package (make extension)")
        return
    cases = json.loads(file.read_text())["cases"] if file.exists() else []
    asyncio.run(_measure(shutil.copytree(built, folder / "extension"), cases, report))
    if not cases:
        print("  recorded articles were not read: they are not here")


async def _measure(package: Path, cases: Iterable[dict[str, Any]], report: Report) -> None:
    async with reader(package) as running:
        await running.allow("http://127.0.0.1/*")
        await running.settle(apiBaseUrl=SERVER, mode="full")
        for what, every in LONG.items():
            page = long_page(every=every)
            running.answers |= page.answers
            await _tasks(running, page.post, what, report)
            seen = [await first_paint(running, page.post) for _ in range(ROUNDS)]
            report.line("  from an answer to its underlines, median", median(seen), "ms", target=at_most(100))
        for case in cases:
            url, whole = case["input"]["sourceUrl"], case["input"]["pageHtml"]
            cut, text = _cut(whole)
            running.answers |= answers_with(_sentences(text))
            await _tasks(running, Post(url, whole), f"{case['id']}, whole", report)
            await _tasks(running, Post(url, cut), f"{case['id']}, cut", report)


async def _tasks(running: Reader, post: Post, what: str, report: Report) -> None:
    rounds = [await script_tasks(running, post) for _ in range(ROUNDS)]
    longest = [max(tasks, default=0.0) for tasks in rounds]
    report.line(f"content script, {what}, in all", median(map(sum, rounds)), "ms", target=at_most(120))
    report.line("  its longest task, median", median(longest), "ms", target=at_most(30))
    report.line("  its longest task of all rounds", max(longest), "ms")


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


def _sentences(text: str) -> list[str]:
    """Sentences from all over the text, each of which stands there once."""
    found = [
        one for one in re.split(r"(?<=[a-z]{4}\.) (?=[A-Z])", text) if 60 < len(one) < 200 and text.count(one) == 1
    ]
    return found[:: max(1, len(found) // FINDINGS)][:FINDINGS]
