"""The models of the stages, as an admin reads and sets them."""

from __future__ import annotations

from contracts.jobs.values import Document, Money, Stage


class ModelChoice(Document):
    """A provider and a model."""

    provider: str
    model: str


class CostImpact(Document):
    """The effect of a change on the price of a new claim. `savings_percent` is None if it cost nothing before."""

    previous_cost_per_claim: Money
    new_cost_per_claim: Money
    savings_percent: int | None


class Configured(Document):
    """`POST /admin/v1/llm/configure`."""

    message: str
    stage: Stage
    previous: ModelChoice
    current: ModelChoice
    cost_impact: CostImpact


class RequestStage(ModelChoice):
    """The model of a stage that is paid for each article."""

    cost_per_request: Money


class ClaimStage(ModelChoice):
    """The model of a stage that is paid for each new claim."""

    cost_per_new_claim: Money


class Stages(Document):
    """The models of all three stages."""

    stage1: RequestStage
    stage2: ClaimStage
    stage3: RequestStage


class Configuration(Document):
    """`GET /admin/v1/llm/config`. `fallback` is None if no fallback provider is set."""

    providers: tuple[str, ...]
    primary: str
    fallback: str | None
    stages: Stages
