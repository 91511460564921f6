"""The registry of kinds of analysis. Stored runs name their kind, so none is ever removed."""

from __future__ import annotations

from analyses.claim_audit import ClaimAudit
from analyses.fact_check import FactCheck
from analyses.flagging import FlaggingKind
from analyses.kinds import Kind

FLAGGING: tuple[FlaggingKind, ...] = (FactCheck(),)
"""Kinds that investigate versions of posts. Each adds a row per post to the table `candidate`."""
KINDS: tuple[Kind, ...] = (*FLAGGING, ClaimAudit())


def flagging_kind(name: str) -> FlaggingKind:
    """The flagging kind of this name. Raises: LookupError if there is none."""
    for each in FLAGGING:
        if each.name == name:
            return each
    raise LookupError(f"no analysis of kind {name!r}")
