"""The track record of a publisher of cited sources: its score, the parts of the score, and its log.

It is about sources and not about a post, so it looks unlike a correction and is in no list or feed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from heapq import merge
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from lifecycle.audits.epochs import epoch_of
from lifecycle.audits.scores import INITIAL, PARTS, compute_accuracy, find_band
from services.gateway.domain import parse_id
from services.gateway.public.site.rendering import Values
from services.gateway.record.publishers import PublisherRow, RatingRow, ScoreRow, read_score
from services.gateway.record.repository import PublicRecord

LOGGED: Final = 260
"""Scores and ratings that are shown: five years of weeks."""
_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accuracy": "Accuracy",
        "correction_policy": "Correction policy",
        "editorial_standards": "Editorial standards",
        "bias_transparency": "Openness about its bias",
        "longevity": "Longevity",
    }
)
_WHY: Final[Mapping[str | None, str]] = MappingProxyType(
    {
        "INITIAL": "The first score of its type: no citation of it has been judged, and it has not been rated.",
        "COMPUTED": "Computed by the formula below.",
        "SET": "Set by a moderator, whose score stands instead of the formula.",
        None: "It was rated and has no score yet; the next is computed on Sunday at 02:00 UTC.",
    }
)
_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FIRST_RATING": "rated for the first time",
        "MONTHLY_AUDIT": "the monthly audit",
        "POLICY_CHANGED": "its policy changed",
        "OWNER_CHANGED": "its owner changed",
        "COMPLAINT": "a complaint",
        "MISTAKE": "a mistake in the previous rating",
    }
)
_SCORED: Final[Mapping[str, str]] = MappingProxyType(
    {"INITIAL": "its type’s first score", "COMPUTED": "by the formula", "SET": "as a moderator set it"}
)


async def show_publisher(record: PublicRecord, domain: str) -> Values | None:
    """Values of the template; None if no such publisher is known."""
    if "\0" in domain:  # PostgreSQL does not accept NUL
        return None
    async with record.open() as session:
        row = await session.publishers.by_domain(domain.lower())
        if row is None:
            return None
        scores = await session.publishers.scores(row.id, LOGGED)
        ratings = await session.publishers.ratings(row.id, LOGGED)
    return {
        "it": row,
        "name": row.name or row.domain,
        "score": _write(row.score),
        "band": _name_band(row.score),
        "why": _WHY.get(row.why, row.why),
        "week": _name_week(row.epoch),
        "part_rows": list(_list_parts(row)),
        "weights": " + ".join(f"{weight} % {_PARTS[name].lower()}" for name, weight in PARTS.items()),
        "first_scores": INITIAL,
        "log": _merge_log(scores, ratings),
    }


async def describe_publisher(record: PublicRecord, given: str) -> dict[str, JsonValue] | None:
    """A publisher's track record as JSON, by id; None if no such publisher is known."""
    id_ = parse_id(given)
    if id_ is None:
        return None
    async with record.open() as session:
        row = await session.publishers.one(id_)
        if row is None:
            return None
        scores = await session.publishers.scores(id_, LOGGED)
    return {
        "id": str(row.id),
        "name": row.name or row.domain,
        "domain": row.domain,
        "type": row.type,
        "track_record_score": row.score,
        "band": _name_band(row.score),
        "why": row.why,
        "score_epoch": row.epoch or None,
        "accuracy": row.accuracy,
        "accuracy_history": [
            {"epoch": each.epoch, "score": each.score, "accuracy": each.accuracy, "total": each.total}
            for each in scores
        ],
        "correct_citations": row.correct,
        "judged_citations": row.total,
        "total_citations": row.total_citations,
        "claim_count": row.claim_count,
        "corrections_count": row.corrections_count,
        "correction_frequency": row.correction_frequency,
        **{name: getattr(row, name) for name in PARTS if name != "accuracy"},
        "weights": dict(PARTS),
        "last_updated": row.last_updated.isoformat(),
    }


def _list_parts(row: PublisherRow) -> Sequence[tuple[str, str, str]]:
    """Each part of the formula with its weight and its value."""
    accuracy = 100 * compute_accuracy(row.correct_weight, row.total_weight)
    values: dict[str, Decimal | int | None] = {name: getattr(row, name, None) for name in PARTS}
    values["accuracy"] = accuracy.quantize(Decimal("0.1")) if row.total else None
    return [
        (_PARTS[name], f"{weight} %", "not judged" if name == "accuracy" else "not rated")
        if values[name] is None
        else (_PARTS[name], f"{weight} %", f"{values[name]}")
        for name, weight in PARTS.items()
    ]


def _merge_log(scores: Sequence[ScoreRow], ratings: Sequence[RatingRow]) -> Sequence[tuple[object, str]]:
    """The log of scores and ratings, newest first."""
    scored = [
        (
            each.scored_at,
            f"Score {_write(each.score)} for {_name_week(each.epoch)}, {_SCORED.get(each.why, each.why)}; "
            f"{each.correct:,} of {each.total:,} judged citations were correct.",
        )
        for each in scores
    ]
    rated = [(each.rated_at, _describe_rating(each)) for each in ratings]
    return list(merge(scored, rated, key=itemgetter(0), reverse=True))[:LOGGED]


def _describe_rating(each: RatingRow) -> str:
    said = [f"{_PARTS[name].lower()} {value}" for name in _PARTS if (value := getattr(each, name, None)) is not None]
    said += [] if each.score is None else [f"score set to {each.score}"]
    return f"Rated by a moderator ({_REASONS.get(each.reason, each.reason)}): {', '.join((each.type, *said))}."


def _write(score: float | None) -> str | None:
    return None if score is None else f"{score:g}"


def _name_band(score: float | None) -> str | None:
    return None if score is None else find_band(read_score(score)).value


def _name_week(epoch: int) -> str | None:
    return f"the week of {epoch_of(epoch).begins:%-d %B %Y}" if epoch else None
