"""Every kind of analysis there is, named one by one.

A run records its kind; a kind that is missing here could no longer be read, so names are only ever added.
"""

from __future__ import annotations

from analyses.fact_check import FactCheck
from analyses.flagging import FlaggingKind
from analyses.kinds import Kind

FLAGGING: tuple[FlaggingKind, ...] = (FactCheck(),)
"""Those that may be asked of a post's version. Each costs a row a version in the queue of what may be looked at."""
KINDS: tuple[Kind, ...] = (*FLAGGING,)


def flagging_kind(name: str) -> FlaggingKind:
    """The flagging kind of this name. Raises: LookupError if there is none."""
    for each in FLAGGING:
        if each.name == name:
            return each
    raise LookupError(f"no analysis of kind {name!r}")
