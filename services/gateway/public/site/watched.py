"""What stops findings from being displayed, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import Final

from contracts.v1.breaker import BreakerState, BreakerTrigger
from services.gateway.public.site import naming
from services.gateway.record.watched import BreakerShown, VariantShown, WatchedRecord

_STATES: Final[Mapping[BreakerState, str]] = MappingProxyType(
    {"OPEN": "Stopped", "HALF_OPEN": "Stopped, on trial", "CLOSED": "Running again"}
)
_TRIGGERS: Final[Mapping[BreakerTrigger, str]] = MappingProxyType(
    {
        "FALSE_FLAG": "False flag on a control",
        "WRONG_AT_HIGH_EXPOSURE": "Wrong on a much-read post",
        "SECOND_FALSE_FLAG": "Second false flag",
        "EVIDENCE": "Too many false flags",
        "MANY_RETRACTIONS": "Many retractions",
        "UNUSUAL_APPROVE_RATE": "Unusual rate of approvals",
        "QUOTE_NOT_IN_PAGE": "A quote is not in its page",
        "NO_NOTE": "No note of the decision log",
        "NO_QUORUM": "No quorum of witnesses",
    }
)
_SCOPES: Final = MappingProxyType({"ALL": "All corrections", "NEW": "New corrections"})
_SHORT: Final = 12


def show_watched(watched: WatchedRecord) -> dict[str, object]:
    """Values of the template."""
    return {
        "stopped": any(each.state != "CLOSED" for each in watched.breakers),
        "breakers": [_show_breaker(each) for each in watched.breakers],
        "controls": watched.controls,
        "volume_heads": ("Model", "Prompt", "Displayed", "Since", "Why"),
        "volume_rows": [_show_variant(each) for each in watched.variants],
    }


def describe_watched(watched: WatchedRecord) -> dict[str, object]:
    """The same record for `/accuracy.json`."""
    return {
        "breakers": [_for_machines(asdict(each)) for each in watched.breakers],
        "volumes": [_for_machines(asdict(each)) for each in watched.variants],
        "controls": {**asdict(watched.controls), "flagged_at_most": watched.controls.flagged_at_most},
    }


def _for_machines(row: dict[str, object]) -> dict[str, object]:
    return {name: naming.machine_time(each) if isinstance(each, datetime) else each for name, each in row.items()}


def _show_breaker(breaker: BreakerShown) -> dict[str, object]:
    scope = _SCOPES.get(breaker.scope)
    if scope is None and breaker.provider is not None and breaker.model is not None:
        scope = f"{naming.model_name(breaker.provider, breaker.model)}, prompt {breaker.prompt_version}"
    return {
        "scope": scope or f"variant {breaker.scope[:_SHORT]}",
        "state": _STATES[breaker.state],
        "since": breaker.changed_at,
        "triggers": [(_TRIGGERS[each.trigger], each.numbers, each.at) for each in breaker.triggers],
        "cause": breaker.cause,
        "by": breaker.by,
    }


def _show_variant(variant: VariantShown) -> tuple[str, ...]:
    match variant.state:
        case "SHADOW":
            displayed = "nothing yet"
        case "LIMITED":
            displayed = f"{naming.number(variant.quota or 0)} a day"
        case "FULL":
            displayed = "all"
    name = naming.model_name(variant.provider, variant.model)
    return name, variant.prompt_version, displayed, f"{variant.changed_at:%Y-%m-%d}", variant.why
