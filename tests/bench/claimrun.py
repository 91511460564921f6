"""One claim through the auditor's own handler, from a request to its analysis; only log and stores are in memory.

Whatever stands between a model's answer and a verdict, every check of quotes and every cap, stands here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyses.claims.labels import Label
from contracts.jobs.words import ClaimWords
from contracts.v1 import AssertionAnalysed, Event, RunFailed
from contracts.v1.parts import Usage
from contracts.v1.run import StageModel
from kit.documents.readable import Readable
from kit.models.base import Model
from kit.sources import Page, PageUnavailable
from services.auditor.evidence import Pages
from tests.bench.claimbook import Claim
from tests.support.analysing import World, request_analysis
from tests.support.factories import NOW

DELIVERIES: Final = 10
_SIDES: Final = {
    Label.HIGHLY_LIKELY: True,
    Label.LIKELY: True,
    Label.UNLIKELY: False,
    Label.HIGHLY_UNLIKELY: False,
}
"""The side of a verdict by its label; other labels take no side."""


@dataclass(frozen=True)
class Result:
    """The outcome of a claim.

    Shapes: `says` is the side of the recommended scenario's verdict, None where it is on none; `on_page` are sources
    whose quotes stand on their page, `not_on_page` those whose quotes do not, or whose page the model never opened.
    """

    claim: Claim
    says: bool | None = None
    on_page: int = 0
    not_on_page: int = 0
    failure: str | None = None
    cost_micro_usd: int = 0

    @property
    def is_right(self) -> bool:
        """Whether the verdict is on the side of the truth."""
        return self.says is self.claim.is_true

    @property
    def is_wrong(self) -> bool:
        """Whether the verdict is on the wrong side; a verdict on no side is neither right nor wrong."""
        return self.says is (not self.claim.is_true)


class NoPages:
    """A web without pages."""

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        """None."""
        return PageUnavailable("http_404")


class _Instance(World):
    def __init__(self, model: Model, pages: Pages) -> None:
        super().__init__()
        self.model = model
        self._beyond = pages

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        return await self._beyond.get(address)

    def open(self, chosen: StageModel) -> Model:
        assert self.model is not None
        return self.model


async def run(claim: Claim, model: Model, pages: Pages) -> Result:
    """Have one claim analysed."""
    instance = _Instance(model, pages)
    words = ClaimWords(text=claim.text, canonical="canonical", reference_day=NOW.date())
    request = await request_analysis(instance.texts, words=words, language=claim.language)
    instance.log.publish(request)
    for _ in range(DELIVERIES):
        if await instance.deliver(request) is None:
            break
    spent = sum(_cost_micro_usd(event) for event in instance.log.events)
    if not instance.analysed:
        failures = [event.reason for event in instance.log.events if isinstance(event, RunFailed)]
        return Result(claim, failure=failures[-1] if failures else "no end was reached", cost_micro_usd=spent)
    (found,) = instance.analysed
    recommended = next(each for each in found.scenarios if each.ordinal == found.recommended)
    not_on_page = found.dropped.missing + found.dropped.not_looked_up
    return Result(claim, _SIDES.get(Label[recommended.label]), len(found.citations), not_on_page, cost_micro_usd=spent)


def _cost_micro_usd(event: Event) -> int:
    usage: Usage | None = event.end.usage if isinstance(event, AssertionAnalysed) else getattr(event, "usage", None)
    return (usage.cost_micro_usd if usage is not None else None) or 0
