"""How often an audit's verdict is on the wrong side, on claims whose truth is known, and whether it treats sides alike.

Without options the demonstration is asked, which knows none of them and costs nothing. `--live` asks the model that the
settings name for stage 2, with `--max-usd` and `--window`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final

from kit.clock import SystemClock
from kit.documents.reading import Reader
from kit.model_settings import LlmSettings, ModelSettings
from kit.models.base import Model
from kit.models.demo import DemoModel
from kit.models.prices import price_of
from kit.models.provider import ProviderDeps
from kit.models.stages import StageModels
from kit.settings import load
from kit.sources import Pages as FetchedPages
from kit.web import CONTACT_URL, GuardedHttpClient, Policy
from services.auditor.evidence import Pages
from tests.bench.bench_cases import TIERS, Options
from tests.bench.budget import BudgetedModel, ceilings_of
from tests.bench.casereport import MICRO
from tests.bench.claimbook import Claim, generate
from tests.bench.claimreport import print_report
from tests.bench.claimrun import NoPages, Result, run
from tests.bench.recordings import MissingRecording, RecordedModel, RecordedPages, RecordingModel, RecordingPages
from tests.bench.report import Report, at_most

AT_ONCE: Final = 4
STAGE: Final = 2


def bench(folder: Path, report: Report, options: Options | None = None) -> None:
    """Analyse the claims of a tier and report the outcomes."""
    del folder
    options = options or Options()
    model, extent = _model(options), TIERS[options.tier]
    report.head(f"claims with known answers, {options.tier}, {model.name.provider} {model.name.model}")
    began = monotonic()
    print_report(asyncio.run(run_all(model, list(generate(extent.share)), options)), report)
    target = None if extent.seconds is None or options.live else at_most(extent.seconds)
    report.line("took", monotonic() - began, "s", target=target)


async def run_all(model: Model, claims: Sequence[Claim], options: Options) -> list[Result]:
    """The results of all claims, a few at a time."""
    places = asyncio.Semaphore(AT_ONCE)
    async with _web(options) as pages:

        async def one(claim: Claim) -> Result:
            async with places:
                try:
                    return await run(claim, model, pages)
                except MissingRecording as missing:
                    return Result(claim, failure=str(missing))

        return list(await asyncio.gather(*map(one, claims)))


def _model(options: Options) -> Model:
    if options.max_usd is not None and options.window is not None:
        own = load(ModelSettings).prices()
        stages = StageModels(load(LlmSettings), ProviderDeps(price=partial(price_of, own=own)))
        chosen = stages.open(stages.resolve(STAGE, None))
        budgeted = BudgetedModel(chosen, int(options.max_usd * MICRO), ceilings_of(chosen, options.window))
        return budgeted if options.recordings is None else RecordingModel(budgeted, options.recordings)
    return DemoModel() if options.recordings is None else RecordedModel(options.recordings)


@asynccontextmanager
async def _web(options: Options) -> AsyncIterator[Pages]:
    """The real web for live runs, through the one guarded client, else a web without pages."""
    if not options.live:
        yield NoPages() if options.recordings is None else RecordedPages(options.recordings)
        return
    http = GuardedHttpClient(Policy(contact_url=CONTACT_URL))
    pages = FetchedPages(http, Reader().read, SystemClock(), archive=None)
    try:
        yield pages if options.recordings is None else RecordingPages(pages, options.recordings)
    finally:
        await pages.close()
        await http.close()
