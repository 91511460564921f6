"""The models of stages and their prices: as an admin configured them, else from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from analyses.claims.costs import DEFAULT_PRICES, compare_prices
from contracts.jobs.requests import ConfigureRequest
from contracts.jobs.stages import (
    ClaimStage,
    Configuration,
    Configured,
    CostImpact,
    ModelChoice,
    RequestStage,
    Stages,
)
from contracts.jobs.values import MICRO_USD, Stage
from contracts.v1 import LlmStageConfigured
from contracts.v1.job import AuditPrices
from contracts.v1.llm_stage import StageName
from contracts.v1.run import StageModel
from kit.cache import Cache
from kit.model_settings import LlmSettings
from kit.models.stages import PROVIDERS, StoredStage, find_provider, resolve
from kit.models.stages import Stage as Number
from services.gateway.jobs.ports import JobLog
from services.gateway.ports import Unavailable

TRIES: Final = 5
"""How often a change is tried again after another admin changed the same stage."""
PRICES_TTL_S: Final = 1.0
"""How long prices are cached: until then, a job may be accepted at a price that another process has changed."""


class _Place(NamedTuple):
    number: Number
    name: StageName
    usual_price: int


_PLACES: Final[Mapping[Stage, _Place]] = {
    "stage1": _Place(1, "extract", DEFAULT_PRICES.extraction),
    "stage2": _Place(2, "analyse", DEFAULT_PRICES.new_claim),
    "stage3": _Place(3, "assess", DEFAULT_PRICES.assessment),
}


class UnknownProvider(ValueError):
    """No provider has this name."""


@dataclass(frozen=True, slots=True)
class _Stored:
    choice: StoredStage | None
    sequence: int


class StageSettings:
    """Reads and changes the models of stages; each method may raise Unavailable.

    `local_model` is the default model of a local server. Units: `prices` are US dollars by
    `<provider>/<model>/<stage>`.
    """

    def __init__(self, log: JobLog, settings: LlmSettings, local_model: str, prices: Mapping[str, Decimal]) -> None:
        self._log = log
        self._settings = settings
        self._local_model = local_model
        self._prices = prices
        self._current: Cache[str, AuditPrices] = Cache(capacity=1, ttl_s=PRICES_TTL_S)

    async def models(self) -> Mapping[Stage, StageModel]:
        stored = await self._read()
        return {stage: self._resolve(stage, stored[stage].choice) for stage in _PLACES}

    async def prices(self) -> AuditPrices:
        """The prices of a job that is accepted now."""
        return await self._current.get_or_make("", self._find_prices)

    async def _find_prices(self) -> AuditPrices:
        models = await self.models()
        extract, analyse, assess = (self.price(stage, models[stage]) for stage in _PLACES)
        return AuditPrices(extract_micro_usd=extract, analyse_micro_usd=analyse, assess_micro_usd=assess)

    async def show(self) -> Configuration:
        """All stages, and the providers that they may name."""
        found = await self.models()

        def request_stage(stage: Stage) -> RequestStage:
            each = found[stage]
            return RequestStage(provider=each.provider, model=each.model, cost_per_request=self.price(stage, each))

        claim = found["stage2"]
        return Configuration(
            providers=PROVIDERS,
            primary=self._settings.primary_provider,
            fallback=self._settings.fallback_provider,
            stages=Stages(
                stage1=request_stage("stage1"),
                stage2=ClaimStage(
                    provider=claim.provider, model=claim.model, cost_per_new_claim=self.price("stage2", claim)
                ),
                stage3=request_stage("stage3"),
            ),
        )

    async def configure(self, request: ConfigureRequest, by: UUID, correlation: UUID) -> Configured:
        """Change a stage for jobs that have not begun. Raises: UnknownProvider."""
        if find_provider(request.provider) is None:
            raise UnknownProvider(request.provider)
        stage, place = request.stage, _PLACES[request.stage]
        for _ in range(TRIES):
            stored = (await self._read())[stage]
            fact = LlmStageConfigured(
                follows=stored.sequence,
                stage=place.name,
                provider=request.provider,
                model=request.model,
                max_tokens=request.max_tokens,
                temperature=request.temperature,
                by=by,
            )
            if await self._log.publish(fact, correlation=correlation):
                self._current.clear()
                return self._compare(stage, self._resolve(stage, stored.choice), self._resolve(stage, _choice_of(fact)))
        raise Unavailable("others keep changing this stage")

    async def _read(self) -> Mapping[Stage, _Stored]:
        facts = await self._log.latest(*(f"{LlmStageConfigured.SUBJECT}.{each.name}" for each in _PLACES.values()))
        by_name = {
            fact.event.stage: _Stored(_choice_of(fact.event), fact.sequence)
            for fact in facts
            if isinstance(fact.event, LlmStageConfigured)
        }
        return {stage: by_name.get(place.name, _Stored(None, 0)) for stage, place in _PLACES.items()}

    def _resolve(self, stage: Stage, stored: StoredStage | None) -> StageModel:
        return resolve(_PLACES[stage].number, self._settings, stored, self._local_model)

    def price(self, stage: Stage, chosen: StageModel) -> int:
        """What a stage costs with this model, in micro-dollars."""
        price = self._prices.get(f"{chosen.provider}/{chosen.model}/{stage}")
        return _PLACES[stage].usual_price if price is None else int(price * MICRO_USD)

    def _compare(self, stage: Stage, previous: StageModel, current: StageModel) -> Configured:
        before, after = self.price(stage, previous), self.price(stage, current)
        return Configured(
            message=f"Jobs that start from now on use {current.provider} {current.model} in {stage}.",
            stage=stage,
            previous=ModelChoice(provider=previous.provider, model=previous.model),
            current=ModelChoice(provider=current.provider, model=current.model),
            cost_impact=CostImpact(
                previous_cost_per_claim=before,
                new_cost_per_claim=after,
                savings_percent=compare_prices(before, after),
            ),
        )


def _choice_of(event: LlmStageConfigured) -> StoredStage:
    return StoredStage(event.provider, event.model, event.max_tokens, event.temperature)
