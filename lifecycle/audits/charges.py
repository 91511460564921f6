"""The amounts that a job reserves and is charged when it ends. Units: millionths of a US dollar."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from contracts.jobs.costs import CostBreakdown
from contracts.v1 import JobRequested
from contracts.v1.job import AuditOptions, AuditPrices, JobOutcome


class StepState(Enum):
    """The state of a paid step of a job. FREE: another job pays for it, or it was found in the cache."""

    FREE = "FREE"
    STARTED = "STARTED"
    DONE = "DONE"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Steps:
    """The states of a job's steps.

    Shapes: `analyses` are those that the job itself requested. They are STARTED from the request on, since an analysis
    goes on to its end even if the job is cancelled.
    """

    extract: StepState = StepState.FREE
    analyses: tuple[StepState, ...] = ()
    assess: StepState = StepState.FREE


def compute_least(prices: AuditPrices) -> int:
    """The cost of a job without new analyses; with less credit no job is accepted."""
    return prices.extract_micro_usd + prices.assess_micro_usd


def compute_most(prices: AuditPrices, options: AuditOptions) -> int:
    """The most that a job can cost; without browsing no claim is analysed."""
    return compute_least(prices) + prices.analyse_micro_usd * (options.max_claims if options.browsing else 0)


def count_affordable(request: JobRequested) -> int:
    """The number of new analyses that the job's reservation can pay for."""
    if request.mode == "CACHE_ONLY" or not request.options.browsing:
        return 0
    left = request.reserved_micro_usd - compute_least(request.prices)
    price = request.prices.analyse_micro_usd
    return request.options.max_claims if price == 0 else max(0, min(left // price, request.options.max_claims))


def split_charge(request: JobRequested, outcome: JobOutcome, steps: Steps) -> CostBreakdown:
    """The charge of a job by stage.

    SUCCEEDED pays for the steps that were done, FAILED for nothing. CANCELED pays for those that were done or are in
    progress; otherwise cancelling late and asking again would be cheaper than finishing.
    """
    paid: set[StepState] = set()
    if request.mode == "CREDIT" and outcome != "FAILED":
        paid = {StepState.DONE} if outcome == "SUCCEEDED" else {StepState.STARTED, StepState.DONE}
    prices = request.prices
    return CostBreakdown(
        stage1_extraction=prices.extract_micro_usd * (steps.extract in paid),
        stage2_new_claims=prices.analyse_micro_usd * sum(each in paid for each in steps.analyses),
        stage2_cached_claims=0,
        stage3_holistic=prices.assess_micro_usd * (steps.assess in paid),
    )


def compute_charge(request: JobRequested, outcome: JobOutcome, steps: Steps) -> int:
    """The charge of a job, never more than it reserved."""
    return min(split_charge(request, outcome, steps).total, request.reserved_micro_usd)
