"""How often a model accuses wrongly, and how much it misses, on posts whose answers are known.

Without options the demonstration is asked, which costs nothing. `--live` asks the configured model, with `--max-usd`
and `--window`. No second opinion is asked: it could only stop more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Final, Literal

from analyses.gates import RULES
from kit.clock import SystemClock
from kit.model_settings import OpenAISettings
from kit.models.base import Model
from kit.models.choice import choose
from kit.models.demo import DemoModel
from kit.settings import GateSettings, Infrastructure, SettingsError, load
from tests.bench import casebook, generated
from tests.bench.budget import BudgetedModel, ceilings_of
from tests.bench.casebook import Post
from tests.bench.casereport import MICRO, print_report
from tests.bench.caserun import Result, World, run, the_web
from tests.bench.recordings import (
    MissingRecording,
    RecordedModel,
    RecordedSources,
    RecordingModel,
    RecordingSources,
)
from tests.bench.report import Report, at_most
from tests.bench.sealed import SealedSet, require_committed
from tlog.errors import TlogError
from tlog.policy import Policy

AT_ONCE: Final = 4
Tier = Literal["commit", "gate", "full"]


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a tier. Units: `share` of the generated posts, `seconds` it should take at most."""

    share: Fraction
    seconds: float | None


TIERS: Final[Mapping[Tier, Extent]] = MappingProxyType(
    {
        "commit": Extent(Fraction(1, 30), 60),
        "gate": Extent(Fraction(1, 6), 600),
        "full": Extent(Fraction(1), None),
    }
)


@dataclass(frozen=True, slots=True)
class Options:
    """Which posts are asked about, and which model. Units: `window` is the most tokens that it reads in a request.

    Shapes: `live` has a `max_usd` and a `window`; it writes `recordings`; else they are replayed. `sealed` is a file of
    posts that are asked instead of a tier's, with the files that prove that it was committed to.
    """

    tier: Tier = "commit"
    live: bool = False
    max_usd: float | None = None
    window: int | None = None
    recordings: Path | None = None
    sealed: Path | None = None
    proof: Path | None = None
    policy: Path | None = None

    def __post_init__(self) -> None:
        """Raises: ValueError: money could be spent without a limit."""
        if self.live != (self.max_usd is not None) or (self.max_usd is not None and not 0 < self.max_usd < 10_000):
            raise ValueError("--live needs --max-usd, a number of dollars, and nothing else does")
        if self.live != (self.window is not None) or (self.window is not None and self.window < 1):
            raise ValueError(
                "--live needs --window, the context window in tokens of the models asked; nothing else does"
            )
        if len({self.sealed is None, self.proof is None, self.policy is None}) != 1:
            raise ValueError("--sealed needs --proof and --policy, and nothing else does")


def select_posts(tier: Tier) -> tuple[Post, ...]:
    """All posts written by hand and a share of the generated ones. Raises: ValueError: an answer contradicts itself."""
    return casebook.together((*casebook.posts(), *generated.generate(TIERS[tier].share)))


def bench(folder: Path, report: Report, options: Options | None = None) -> None:
    """Investigate the posts of a tier and report the outcomes."""
    del folder
    options = options or Options()
    sealed = _open_sealed(options)
    posts = select_posts(options.tier) if sealed is None else sealed.posts
    model = _model(options)
    extent = options.tier if sealed is None else "sealed"
    report.head(f"posts with known answers, {extent}, {model.name.provider} {model.name.model}")
    if sealed is not None:
        report.note(f"{sealed.commitment} is leaf {sealed.index} of {sealed.origin}, of {sealed.committed_at:%Y-%m-%d}")
    began = monotonic()
    results = asyncio.run(run_all(model, posts, options))
    print_report(results, report)
    seconds = TIERS[options.tier].seconds
    target = None if seconds is None or options.live or sealed is not None else at_most(seconds)
    report.line("took", monotonic() - began, "s", target=target)


def _open_sealed(options: Options) -> SealedSet | None:
    """The posts that are asked instead of a tier's. Raises: SettingsError: nothing proves that they were sealed."""
    if options.sealed is None or options.proof is None or options.policy is None:
        return None
    try:
        policy = Policy.parse(options.policy.read_bytes())
        return require_committed(options.sealed.read_bytes(), options.proof.read_bytes(), policy, SystemClock().now())
    except (OSError, TlogError, ValueError) as error:
        raise SettingsError(f"{options.sealed}: {error}") from error


def _model(options: Options) -> Model:
    if options.max_usd is not None and options.window is not None:
        chosen = choose(load(Infrastructure), load(OpenAISettings), embedded=True)
        budgeted = BudgetedModel(chosen, int(options.max_usd * MICRO), ceilings_of(chosen, options.window))
        return budgeted if options.recordings is None else RecordingModel(budgeted, options.recordings)
    return DemoModel() if options.recordings is None else RecordedModel(options.recordings)


async def run_all(model: Model, posts: Sequence[Post], options: Options) -> list[Result]:
    """The results of all posts, a few at a time. What a model proposes has to pass the gates that the settings ask for.

    The demonstration has to pass none, as in the validator: its sources are no real pages.
    """
    places = asyncio.Semaphore(AT_ONCE)
    policy = None if model.labelled_demo else load(GateSettings).policy(RULES, own_hosts=())
    async with AsyncExitStack() as stack:
        beyond = await _world(options, stack)

        async def one(post: Post) -> Result:
            async with places:
                try:
                    return await run(post, model, beyond, policy=policy)
                except MissingRecording as missing:
                    return Result(post, failure=str(missing))

        return list(await asyncio.gather(*map(one, posts)))


async def _world(options: Options, stack: AsyncExitStack) -> World:
    if not options.live:
        return World() if options.recordings is None else World(sources=RecordedSources(options.recordings))
    world = await stack.enter_async_context(the_web())
    if options.recordings is None:
        return world
    return World(world.research, RecordingSources(world.sources, options.recordings))
