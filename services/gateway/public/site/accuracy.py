"""How often a shown correction is wrong, by external reviews; computed at most once a minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from types import MappingProxyType
from typing import Final

from accuracy.bounds import CONFIDENCE
from accuracy.reviews import ReviewCounts, count_reviews
from services.gateway.public.site import naming
from services.gateway.public.site.watched import describe_watched, show_watched
from services.gateway.record.appeals import AppealCounts, VariantAppeals
from services.gateway.record.repository import PublicRecord
from services.gateway.record.reviews import Decision, DrawnSample, Refusals, ReviewRecord
from services.gateway.record.watched import WatchedRecord

FRESH_S: Final = 60.0
REFUSED_DAYS: Final = 30
UNWATCHED: Final = WatchedRecord()
_GATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rule": "The quote is not in the post, or no source is public",
        "sources": "The cited pages do not contain the words quoted from them",
        "satire": "Satire, in the post or a source",
        "assertion": "The post does not assert the sentence",
        "independence": "No independent source",
        "families": "Too few sources that are independent of one another",
        "time": "The sources are about another time",
        "freshness": "The sources are too old",
        "contradiction": "The quoted words do not show the correction",
        "second_opinion": "A model of another family is not sure enough, or it is not known how often it errs",
        "model": "The second, strict look",
        "hold": "Withheld after its hold",
    }
)
"""Why a gate refuses, by its name."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Reviewed findings of one model under one version of the prompt."""

    provider: str
    model: str
    prompt_version: str
    counts: ReviewCounts


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Everything that the page shows. Shapes: `drawn` counts each finding once; `refusals` are of REFUSED_DAYS."""

    at: datetime
    drawn: int
    counts: ReviewCounts
    variants: tuple[Variant, ...]
    samples: tuple[DrawnSample, ...]
    refusals: tuple[Refusals, ...]
    watched: WatchedRecord
    appeals: tuple[VariantAppeals, ...] = ()


def compute_accuracy(
    now: datetime, record: ReviewRecord, refusals: Sequence[Refusals], watched: WatchedRecord = UNWATCHED
) -> Accuracy:
    """Compute the figures from rows; the variant with most reviews comes first."""
    by_variant: dict[tuple[str, str, str], list[Decision]] = {}
    for each in record.decisions:
        by_variant.setdefault((each.provider, each.model, each.prompt_version), []).append(each)
    variants = [Variant(*names, _count(found)) for names, found in sorted(by_variant.items())]
    variants.sort(key=lambda variant: -variant.counts.reviewed)
    return Accuracy(
        now, record.drawn, _count(record.decisions), tuple(variants), record.samples, tuple(refusals), watched
    )


def sum_appeals(variants: Sequence[VariantAppeals]) -> AppealCounts:
    """Add up appeals of all variants."""
    return AppealCounts(
        opened=sum(each.opened for each in variants),
        upheld=sum(each.upheld for each in variants),
        partly=sum(each.partly for each in variants),
        dismissed=sum(each.dismissed for each in variants),
        refused=sum(each.refused for each in variants),
        by_authors=sum(each.by_authors for each in variants),
    )


def _count(decisions: Sequence[Decision]) -> ReviewCounts:
    return count_reviews((each.claim_id, each.verdict) for each in decisions)


def at_most(bound: float | None) -> str:
    """Format an upper bound in percent, rounded up so that it stays one."""
    if bound is None:
        return "not measured"
    return f"{ceil(bound * 1000) / 10:.1f} %" if bound < 0.1 else f"{ceil(bound * 100)} %"


def show_accuracy(known: Accuracy) -> dict[str, object]:
    """Values of the template."""
    heads = ("Model", "Prompt", "Reviewed", "Right", "Partly", "Wrong", "Wrong at most")
    return {
        "section": "/accuracy",
        "known": known,
        "wrong_at_most": at_most(known.counts.wrong_at_most),
        "not_right_at_most": at_most(known.counts.not_right_at_most),
        "variant_heads": heads,
        "variant_rows": [
            (
                naming.model_name(each.provider, each.model),
                each.prompt_version,
                *map(naming.number, (each.counts.reviewed, each.counts.right, each.counts.partly, each.counts.wrong)),
                at_most(each.counts.wrong_at_most),
            )
            for each in known.variants
        ],
        "appeals": sum_appeals(known.appeals),
        "appeal_heads": ("Model", "Prompt", "Appeals", "By authors", "Upheld", "In part", "Dismissed", "Refused"),
        "appeal_rows": [
            (
                naming.model_name(each.provider, each.model),
                each.prompt_version,
                *map(
                    naming.number,
                    (each.opened, each.by_authors, each.upheld, each.partly, each.dismissed, each.refused),
                ),
            )
            for each in known.appeals
        ],
        "refused": sum(each.count for each in known.refusals),
        "refusal_rows": [(_GATES.get(each.gate, each.gate), naming.number(each.count)) for each in known.refusals],
        "refused_days": REFUSED_DAYS,
        "flagged_at_most": at_most(known.watched.controls.flagged_at_most),
        **show_watched(known.watched),
    }


def describe_accuracy(known: Accuracy) -> dict[str, object]:
    """The figures for `/accuracy.json`. Shapes: a bound is a share from 0 to 1, or None if it was not measured."""
    return {
        "at": naming.machine_time(known.at),
        "confidence": CONFIDENCE,
        "drawn": known.drawn,
        **_describe_counts(known.counts),
        "variants": [
            {
                "provider": each.provider,
                "model": each.model,
                "prompt_version": each.prompt_version,
                **_describe_counts(each.counts),
            }
            for each in known.variants
        ],
        "samples": [asdict(sample) for sample in known.samples],
        "refused": {"days": REFUSED_DAYS, "by_gate": {each.gate: each.count for each in known.refusals}},
        "appeals": {**asdict(sum_appeals(known.appeals)), "variants": [asdict(each) for each in known.appeals]},
        **describe_watched(known.watched),
    }


def _describe_counts(counts: ReviewCounts) -> dict[str, object]:
    return {
        "reviewed": counts.reviewed,
        **asdict(counts),
        "wrong_at_most": counts.wrong_at_most,
        "wrong_or_partly_at_most": counts.not_right_at_most,
    }


async def read_accuracy(record: PublicRecord, now: datetime) -> Accuracy:
    """Read and compute the figures. Raises: Unavailable."""
    async with record.open() as session:
        refusals = await session.reviews.refusals(now - timedelta(days=REFUSED_DAYS))
        known = compute_accuracy(now, await session.reviews.read(), refusals, await session.watched.read())
        return replace(known, appeals=tuple(await session.appeals.counts()))
