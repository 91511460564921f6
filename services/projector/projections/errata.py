"""The stream ERRATA: which rows each fact is about, and what it does to them. Pure, and total over the list of events.

An event that changes no table is in `IGNORED` with the reason, so that a new event cannot be overlooked.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from contracts import v1
from services.projector.facts.fact import Need
from services.projector.projections import accuracy, appeals, claims, findings, investigations, reviews, rules, versions
from services.projector.projections.rules import Rule, Rules
from services.projector.rows.accuracy import BREAKERS, CONTROL_BATCHES, CONTROL_RUNS, VARIANTS
from services.projector.rows.appeals import APPEALS
from services.projector.rows.attempts import ATTEMPT_TABLES
from services.projector.rows.claims import CANDIDATES, EXPENSES, PROMPTS, REVIEWS, SOURCE_CHECKS
from services.projector.rows.findings import FINDING_STATES
from services.projector.rows.investigations import (
    CLAIMS,
    IMAGE_BLOBS,
    IMAGES,
    INPUTS,
    INVESTIGATIONS,
    LEASES,
    PICTURE_FATES,
    RESULTS,
    ROUNDS,
    SOURCES,
)
from services.projector.rows.reviews import OUTSIDE_REVIEWS, REVIEW_SAMPLES, SAMPLED_CLAIMS
from services.projector.rows.table import AnyTable, Tables
from services.projector.rows.versions import VERSION_TABLES, VERSIONS

IGNORED: Final[dict[type[v1.Event], str]] = {
    v1.ObservationReceived: "what a reader saw is shown only once it has become a version",
    v1.ObservationUnverifiable: "the same",
    v1.CanonicalFetched: "the page comes again, as the server's HTML of the version made from it",
    v1.AppealProofOffered: "its outcome is in the event that ends the check",
    v1.ClaimValidationStarted: "the review's result and cost are in the event that ends it",
    v1.LogChanged: "it is about the decision log, which is no part of the read model",
    v1.ClaimHoldEnded: "the verdict that follows says it",
    v1.ErasureOrdered: "it removes rows instead of making some: see erasure",
    v1.PostViewed: "views have their own stream and their own fold: see views",
    v1.PostHinted: "the same",
}

TABLES: Final[tuple[AnyTable, ...]] = (
    *VERSION_TABLES,
    PROMPTS,
    INPUTS,
    INVESTIGATIONS,
    LEASES,
    IMAGE_BLOBS,
    IMAGES,
    PICTURE_FATES,
    *ATTEMPT_TABLES,
    ROUNDS,
    CANDIDATES,
    SOURCE_CHECKS,
    REVIEWS,
    EXPENSES,
    CLAIMS,
    SOURCES,
    RESULTS,
    FINDING_STATES,
    APPEALS,
    REVIEW_SAMPLES,
    SAMPLED_CLAIMS,
    OUTSIDE_REVIEWS,
    VARIANTS,
    BREAKERS,
    CONTROL_BATCHES,
    CONTROL_RUNS,
)
"""Parents before children, as foreign keys require."""


_RULES: Final[Rules] = {
    v1.CanonicalUnavailable: Rule(versions.failure_keys, versions.fail),
    v1.VersionRegistered: Rule(versions.heading_keys, versions.register),
    v1.VersionSeen: Rule(versions.sighting_keys, versions.sight),
    v1.VersionVerified: Rule(versions.heading_keys, versions.verify),
    v1.IntegrityAnomalyDetected: Rule(lambda _: (), versions.contradict),
    v1.InvestigationRequested: Rule(investigations.request_keys, investigations.request),
    v1.InvestigationStarted: Rule(investigations.start_keys, investigations.start),
    v1.InvestigationAdvanced: Rule(investigations.attempt_keys, investigations.advance),
    v1.InvestigationDrafted: Rule(investigations.attempt_keys, investigations.draft),
    v1.InvestigationRetryScheduled: Rule(investigations.attempt_keys, investigations.retry),
    v1.InvestigationCompleted: Rule(investigations.completion_keys, investigations.complete),
    v1.InvestigationFailed: Rule(investigations.failure_keys, investigations.fail),
    v1.ClaimProposed: Rule(claims.proposal_keys, claims.propose),
    v1.ClaimRetained: Rule(claims.proposal_keys, claims.retain),
    v1.ClaimHeld: Rule(claims.hold_keys, claims.hold),
    v1.ClaimApproved: Rule(claims.review_keys, claims.approve),
    v1.ClaimRejected: Rule(claims.review_keys, claims.reject),
    v1.ClaimValidationFailed: Rule(claims.review_keys, claims.fail),
    v1.ClaimValidationRetryScheduled: Rule(claims.review_keys, claims.retry),
    v1.FindingChanged: Rule(findings.keys, findings.change),
    v1.AppealOpened: Rule(appeals.keys, appeals.open_appeal),
    v1.AppealProofChecked: Rule(appeals.keys, appeals.check_proof),
    v1.AppealDecided: Rule(appeals.keys, appeals.decide),
    v1.VariantChanged: Rule(accuracy.variant_keys, accuracy.change_variant),
    v1.BreakerChanged: Rule(accuracy.breaker_keys, accuracy.change_breaker),
    v1.ControlCommitted: Rule(accuracy.commit_keys, accuracy.commit),
    v1.ControlOpened: Rule(accuracy.open_keys, accuracy.open_batch),
    v1.ReviewSampled: Rule(reviews.sample_keys, reviews.sample),
    v1.ReviewDecided: Rule(reviews.decision_keys, reviews.decide),
}

PROJECTED: Final = frozenset(_RULES)


find_row_keys: Final = partial(rules.find_row_keys, _RULES)
fold: Final = partial(rules.fold, _RULES)


def find_met_needs(tables: Tables) -> set[Need]:
    """The needs that loaded rows meet."""
    met = {Need("version", version.id) for version in tables[VERSIONS].current}
    met |= {Need("claim", candidate.claim_id) for candidate in tables[CANDIDATES].current}
    for state in tables[INVESTIGATIONS].current:
        met.add(Need("investigation", state.id))
        if state.input_id is not None:
            met.add(Need("started", state.id))
    return met
