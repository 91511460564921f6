"""What a gate said of a candidate, in words."""

from __future__ import annotations

from analyses.gates import MEANINGS, REASONS
from services.gateway.record.runs import GateOutcome


def describe_gate(outcome: GateOutcome) -> str:
    """What a gate by code said, in words; the bare code where this version knows none."""
    if outcome.outcome == "PASS":
        return next((meaning for gate, meaning in MEANINGS.items() if gate == outcome.gate), outcome.gate)
    return REASONS.get(outcome.code, outcome.code or outcome.gate)
