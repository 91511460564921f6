"""How often the configured model accuses wrongly, and how much it misses, on posts whose answers are known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from kit.models.base import Model
from kit.models.choice import choose
from kit.settings import Infrastructure, OpenAISettings, load
from tests.bench import casebook
from tests.bench.casebook import Kind, Post
from tests.bench.caserun import Result, World, run, the_web
from tests.bench.report import Report, at_least, at_most

AT_ONCE = 4
MICRO = 1_000_000


@dataclass(frozen=True)
class Tally:
    """What came of some posts together."""

    posts: int
    wrong: int
    found: int
    false_flags: int
    flags: int
    failed: int

    @property
    def precision(self) -> float | None:
        """Share of what was flagged that is wrong; None if nothing was flagged."""
        return None if not self.flags else (self.flags - self.false_flags) / self.flags

    @property
    def missed(self) -> int:
        """Wrong sentences that a completed run did not find, or whose run failed."""
        return self.wrong - self.found


def tally(results: Iterable[Result]) -> Tally:
    """Count."""
    every = list(results)
    return Tally(
        posts=len(every),
        wrong=sum(len(each.post.wrong) for each in every),
        found=sum(len(each.hits) for each in every),
        false_flags=sum(len(each.false_flags) for each in every),
        flags=sum(len(each.claims) for each in every),
        failed=sum(each.failure is not None for each in every),
    )


def bench(folder: Path, report: Report) -> None:
    """Investigate every post; a demonstration looks nothing up, a real model goes out to the web."""
    del folder
    model = choose(load(Infrastructure), load(OpenAISettings), embedded=True)
    report.head(f"posts with known answers, {model.name.provider} {model.name.model}")
    told(asyncio.run(everything(model, casebook.posts())), report)


async def everything(model: Model, posts: Sequence[Post]) -> list[Result]:
    """The results of all posts, a few at a time."""
    places = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        beyond = World() if model.labelled_demo else await stack.enter_async_context(the_web())

        async def one(post: Post) -> Result:
            async with places:
                return await run(post, model, beyond)

        return list(await asyncio.gather(*map(one, posts)))


def told(results: Sequence[Result], report: Report) -> None:
    """A line for each kind, the sum, and by name what went wrong."""
    report.note(
        f"{'kind':<18}{'posts':>7}{'wrong':>7}{'found':>7}{'missed':>8}{'false':>7}{'failed':>8}{'precision':>11}"
    )
    for kind in get_args(Kind):
        report.note(_row(kind, tally(result for result in results if result.post.kind == kind)))
    whole = tally(results)
    report.note(_row("all", whole))
    report.line("false flags", whole.false_flags, "", target=at_most(0))
    if whole.precision is not None:
        report.line("precision", whole.precision * 100, "%", target=at_least(100))
    report.line("missed", whole.missed, f"of {whole.wrong}")
    report.line("cost", sum(result.cost_micro_usd for result in results) / MICRO, "USD")
    for result in results:
        for quote in result.false_flags:
            report.note(f"false flag  {result.post.id}: {quote}")
        for sentence in sorted(set(result.post.wrong) - result.hits):
            report.note(f"missed      {result.post.id}: {sentence}")
        if result.failure is not None:
            report.note(f"failed      {result.post.id}: {result.failure}")


def _row(name: str, of: Tally) -> str:
    share = "-" if of.precision is None else f"{of.precision:.0%}"
    return (
        f"{name:<18}{of.posts:>7}{of.wrong:>7}{of.found:>7}{of.missed:>8}{of.false_flags:>7}{of.failed:>8}{share:>11}"
    )
