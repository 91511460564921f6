"""How much of a variant is displayed, from what was seen of it since its volume last changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accuracy.facts import Control, GateTier, Verdict
from accuracy.volume import (
    CLEAN_CONTROLS,
    SHADOW_RUNS,
    Full,
    Limited,
    Observed,
    Shadow,
    ShadowRun,
    Volume,
    advance,
    quota,
)
from contracts.v1 import VariantChanged
from contracts.v1.variant import TierState, VariantParts, VolumeState
from services.curator.breaking import CURATOR

CLEAN: Final = GateTier.CLEAN


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVariant:
    """A variant's volume as the tables have it."""

    variant: str
    parts: VariantParts
    state: VolumeState
    quota: int | None
    step: int
    clean: int
    after_wrong: bool
    gate_tier: TierState
    since: datetime
    through: int
    changed_at: datetime
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownVariant:
    """A variant that has run and has no volume yet. Units: its findings are held back from `since` on."""

    variant: str
    parts: VariantParts
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFinding:
    """A finding that was reviewed: once when the first verdict comes, and once more if one is WRONG after all."""

    variant: str
    sequence: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of a variant since it came into its state.

    Shapes: `runs` without controls; `controls` without findings; `flagged` controls with one; `reviews` in the order of
    the log.
    """

    runs: int = 0
    controls: int = 0
    flagged: int = 0
    reviews: Sequence[ReviewedFinding] = ()


def announce(unknown: UnknownVariant) -> VariantChanged:
    """The event of a variant that runs for the first time: it starts in the shadow."""
    return VariantChanged(
        variant=unknown.variant,
        parts=unknown.parts,
        state="SHADOW",
        quota=0,
        since=unknown.since,
        why="it is new",
        by=CURATOR,
    )


def find_change(known: KnownVariant, seen: Seen, now: datetime) -> VariantChanged | None:
    """The event of a changed volume; None if it is unchanged."""
    volume = to_volume(known)
    through, why = known.through, ""
    for observed, sequence in _order(seen):
        through = max(through, sequence)
        following = advance(volume, observed)
        if _is_change(volume, following) or _starts_anew(observed):
            why = _explain(observed)
        volume = following
    return make_change(known, volume, through=through, why=why, by=CURATOR, now=now) if why else None


def make_change(
    known: KnownVariant, volume: Volume, *, through: int, why: str, by: str, now: datetime
) -> VariantChanged:
    """The event of a changed volume. It holds for what is published from now on, or from the state's begin if that goes
    on; a shadow that starts anew does not go on.
    """
    limited = volume if isinstance(volume, Limited) else Limited()
    goes_on = name_state(volume) == known.state and not (isinstance(volume, Shadow) and volume.gate_tier is not CLEAN)
    tier: TierState = volume.gate_tier.value if isinstance(volume, Shadow) else "CLEAN"
    return VariantChanged(
        follows=known.sequence,
        variant=known.variant,
        parts=known.parts,
        state=name_state(volume),
        quota=quota(volume),
        step=limited.step,
        clean=limited.clean,
        after_wrong=limited.after_wrong,
        gate_tier=tier,
        since=known.since if goes_on else now,
        through=through,
        why=why,
        by=by,
    )


def to_volume(known: KnownVariant) -> Volume:
    """The volume, with nothing counted in the shadow yet."""
    match known.state:
        case "SHADOW":
            return Shadow(gate_tier=GateTier(known.gate_tier))
        case "LIMITED":
            return Limited(known.step, known.clean, known.after_wrong)
        case "FULL":
            return Full()


_STATES: Final[dict[type[Volume], VolumeState]] = {Shadow: "SHADOW", Limited: "LIMITED", Full: "FULL"}


def name_state(volume: Volume) -> VolumeState:
    """The state as events name it."""
    return _STATES[type(volume)]


def _order(seen: Seen) -> Iterable[tuple[Observed, int]]:
    """The observations with their sequence, 0 for runs and controls, which are not counted beyond what is needed."""
    yield from ((ShadowRun(), 0) for _ in range(min(seen.runs, SHADOW_RUNS)))
    yield from ((Control("", is_flagged=False), 0) for _ in range(min(seen.controls, CLEAN_CONTROLS)))
    yield from ((each.verdict, each.sequence) for each in seen.reviews)
    if seen.flagged:
        yield Control("", is_flagged=True), 0


def _is_change(one: Volume, other: Volume) -> bool:
    """Whether state or quota changed; counts within a step are computed anew each time."""
    return name_state(one) != name_state(other) or quota(one) != quota(other)


def _starts_anew(observed: Observed) -> bool:
    """Whether counting starts anew, even in the shadow, where the state stays the same."""
    return observed is Verdict.WRONG or (isinstance(observed, Control) and observed.is_flagged)


def _explain(observed: Observed) -> str:
    match observed:
        case Control(is_flagged=True):
            return "a control was flagged"
        case Verdict.WRONG:
            return "a finding was reviewed as WRONG"
        case Verdict():
            return "enough reviews without WRONG"
        case _:
            return "runs, controls and gate tier in the shadow are clean"
