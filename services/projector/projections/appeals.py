"""Appeals: each is opened once and decided once, in the order of the stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from contracts.v1 import AppealDecided, AppealOpened, AppealProofChecked
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.appeals import APPEALS, Appeal
from services.projector.rows.table import Tables

PROVEN: Final = "PROVEN"
_APPEAL: Final = APPEALS.by()

keys: Final = rows_by((_APPEAL, "appeal_id"))


def open_appeal(tables: Tables, fact: Fact, event: AppealOpened, material: Material) -> None:
    """An appeal was opened. The table refuses one about an unknown investigation, as after an erasure."""
    if tables[APPEALS].get(event.appeal_id) is None:
        tables[APPEALS].add(
            Appeal(
                event.appeal_id,
                event.investigation_id,
                event.kind,
                [str(claim) for claim in event.claim_ids],
                event.text,
                list(event.links),
                event.range_key,
                fact.at,
                fact.sequence,
                event.by_author,
                event.statement,
            )
        )


def check_proof(tables: Tables, fact: Fact, event: AppealProofChecked, material: Material) -> None:
    """An attempt to prove the appeal's author was checked; a proven appeal stays proven."""
    known = tables[APPEALS].get(event.appeal_id)
    if known is not None and known.by_author and known.proof != PROVEN:
        tables[APPEALS].put(replace(known, proof=event.outcome))


def decide(tables: Tables, fact: Fact, event: AppealDecided, material: Material) -> None:
    """An appeal was decided; the first decision counts."""
    known = tables[APPEALS].get(event.appeal_id)
    if known is not None and known.outcome is None:
        tables[APPEALS].put(replace(known, outcome=event.outcome, reason=event.reason, decided_at=fact.at))
