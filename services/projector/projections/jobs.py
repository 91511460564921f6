"""The stream JOBS: which rows each fact is about, and what it does to them. Pure, and total over the list of events.

An event that changes no table is in `IGNORED` with the reason, so that a new event cannot be overlooked.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from contracts import v1
from services.projector.facts.fact import Need
from services.projector.projections import (
    assertions,
    audit_jobs,
    catalogue,
    credit,
    labels,
    publishers,
    quality,
    rules,
    runs,
)
from services.projector.projections.rules import Rule, Rules
from services.projector.rows.assertions import ANALYSES, ASSERTION_TABLES, ASSERTIONS
from services.projector.rows.catalogue import CATALOGUE_TABLES, ENTRIES
from services.projector.rows.jobs import JOB_TABLES, JOBS, RUN_ATTEMPTS
from services.projector.rows.labels import LABELS
from services.projector.rows.publishers import PUBLISHER_TABLES
from services.projector.rows.quality import QUALITY_TABLES
from services.projector.rows.table import AnyTable, Tables

IGNORED: Final[dict[type[v1.Event], str]] = {
    v1.JobIdempotencyKeyBound: "a key is looked up in the log, whose sequence decides",
    v1.EntityErasureOrdered: "it removes rows instead of making some: see erasure",
}

TABLES: Final[tuple[AnyTable, ...]] = (
    *JOB_TABLES,
    *ASSERTION_TABLES,
    *CATALOGUE_TABLES,
    LABELS,
    *PUBLISHER_TABLES,
    *QUALITY_TABLES,
)
"""Parents before children, as foreign keys require."""

_RULES: Final[Rules] = {
    v1.JobRequested: Rule(audit_jobs.job_keys, audit_jobs.request),
    v1.JobFetched: Rule(audit_jobs.job_keys, audit_jobs.fetch),
    v1.JobExtracted: Rule(audit_jobs.end_keys, audit_jobs.extract),
    v1.JobPlanned: Rule(audit_jobs.claim_keys, audit_jobs.plan),
    v1.JobResolved: Rule(audit_jobs.claim_keys, audit_jobs.resolve),
    v1.JobEnded: Rule(audit_jobs.end_keys, audit_jobs.end),
    v1.RunStarted: Rule(runs.keys, runs.start),
    v1.RunAdvanced: Rule(runs.keys, runs.advance),
    v1.RunRetryScheduled: Rule(runs.keys, runs.fail),
    v1.RunFailed: Rule(runs.keys, runs.fail),
    v1.AssertionAnalysisRequested: Rule(assertions.request_keys, assertions.request),
    v1.AssertionAnalysed: Rule(assertions.analysis_keys, assertions.analyse),
    v1.AssertionInvalidated: Rule(assertions.invalidation_keys, assertions.invalidate),
    v1.EntryPublished: Rule(catalogue.publication_keys, catalogue.publish),
    v1.EntryStaled: Rule(catalogue.staled_keys, catalogue.stale),
    v1.EditMade: Rule(catalogue.edit_keys, catalogue.edit),
    v1.FlagRaised: Rule(catalogue.flag_keys, catalogue.raise_flag),
    v1.FlagResolved: Rule(catalogue.flag_keys, catalogue.resolve_flag),
    v1.CreditPosted: Rule(credit.period_keys, credit.post),
    v1.LlmStageConfigured: Rule(credit.stage_keys, credit.configure),
    v1.LabelIssued: Rule(labels.keys, labels.issue),
    v1.PublisherScored: Rule(publishers.keys, publishers.score),
    v1.PublisherRated: Rule(publishers.keys, publishers.rate),
    v1.PublisherEpochClosed: Rule(lambda _: (), publishers.close),
    v1.MetricSampled: Rule(lambda _: (), quality.sample),
    v1.PatternRecorded: Rule(quality.pattern_keys, quality.record),
    v1.RetentionPurged: Rule(credit.purge_keys, credit.purge),
}

PROJECTED: Final = frozenset(_RULES)

find_row_keys: Final = partial(rules.find_row_keys, _RULES)
fold: Final = partial(rules.fold, _RULES)


def find_met_needs(tables: Tables) -> set[Need]:
    """The needs that loaded rows meet."""
    met = {Need("run", attempt.run_id) for attempt in tables[RUN_ATTEMPTS].current}
    met |= {Need("assertion", assertion.id) for assertion in tables[ASSERTIONS].current}
    met |= {Need("entry", entry.id) for entry in tables[ENTRIES].current}
    met |= {Need("analysis", analysis.id) for analysis in tables[ANALYSES].current}
    for job in tables[JOBS].current:
        met.add(Need("job", job.id))
        if job.extracted_at is not None:
            met.add(Need("extracted", job.id))
    return met
