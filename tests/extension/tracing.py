"""What the content script takes of a page's main thread, task by task, from Chromium's own trace.

Every sample taken inside the content script counts, with whatever the browser did for it, and is laid to the task it
was taken in. The page's own work is left out. Time is that on a core: what a task spends waiting for one says nothing
about us.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from playwright.async_api import Page

from tests.extension.chromium import Reader
from tests.extension.posts import Post

SCRIPT: Final = "/content-scripts/content.js"
CATEGORIES: Final = ("disabled-by-default-devtools.timeline", "disabled-by-default-v8.cpu_profiler")

Event = dict[str, Any]


async def script_tasks(running: Reader, post: Post) -> list[float]:
    """Milliseconds of the content script in each task that has any, from loading the page to its underlines."""
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
    try:
        await page.goto(url)
        await running.until(
            lambda: running.state(page), "the page is judged", lambda state: state in {"skipped", "investigated"}
        )
        if await running.state(page) == "investigated":
            await page.wait_for_function("() => [...CSS.highlights.values()].some((one) => one.size > 0)")
    finally:
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
