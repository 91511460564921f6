"""Labels: the newest event of each counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1 import LabelIssued
from contracts.v1.ids import label_id
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.rows.labels import LABELS, Label
from services.projector.rows.table import RowKey, Tables

_LABEL: Final = LABELS.by()


def keys(event: LabelIssued) -> Sequence[RowKey]:
    return ((_LABEL, label_id(event.uri, event.cid, event.val)),)


def issue(tables: Tables, fact: Fact, event: LabelIssued, material: Material) -> None:
    """A label was issued, renewed or taken back."""
    id_ = label_id(event.uri, event.cid, event.val)
    present = tables[LABELS].get(id_)
    if present is None or present.sequence < fact.sequence:
        tables[LABELS].put(
            Label(
                id_,
                event.uri,
                event.cid,
                event.val,
                event.neg,
                event.cts,
                event.exp,
                event.post_id,
                event.investigation_id,
                event.why,
                fact.sequence,
            )
        )
