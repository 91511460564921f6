"""The states of published findings: the newest event of each counts."""

from __future__ import annotations

from typing import Final

from contracts.v1 import FindingChanged
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.findings import FINDING_STATES, FindingState
from services.projector.rows.table import Tables

_STATE: Final = FINDING_STATES.by()

keys: Final = rows_by((_STATE, "claim_id"))


def change(tables: Tables, fact: Fact, event: FindingChanged, material: Material) -> None:
    """A finding was suspended, released or retracted.

    The event waits for nothing: a finding is changed only after it was seen in these tables. The table refuses the
    state of an unknown claim, as after an erasure.
    """
    present = tables[FINDING_STATES].get(event.claim_id)
    if present is None or present.sequence < fact.sequence:
        tables[FINDING_STATES].put(
            FindingState(
                event.claim_id,
                event.investigation_id,
                event.state,
                event.cause,
                event.note,
                fact.at,
                fact.sequence,
            )
        )
