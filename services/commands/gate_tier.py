"""Reads the bench's report of the gate tier, which must be clean to close a breaker or to admit a variant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from accuracy.facts import GateTier

_HEAD: Final = re.compile(r"^posts with known answers, (commit|gate|full), (\S+) (.+?)  \(load average", re.MULTILINE)
_FALSE_FLAGS: Final = re.compile(r"^  false flags +([0-9,]+) ", re.MULTILINE)
_END: Final = re.compile(r"^took [0-9]+ s; ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TierReport:
    """The result of the gate tier, and the model that was asked."""

    state: GateTier
    provider: str
    model: str


def read_gate_tier(file: Path) -> TierReport:
    """Read what `python -m tests.bench cases --tier gate` printed. Raises: click.ClickException: it is not that."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise click.ClickException(f"{file}: {reason}") from error
    heads, flags = _HEAD.findall(text), _FALSE_FLAGS.findall(text)
    if len(heads) != 1 or len(flags) != 1 or _END.search(text) is None:
        raise click.ClickException(f"{file}: it is not a complete report of `python -m tests.bench cases`")
    ((tier, provider, model),) = heads
    if tier == "commit":
        raise click.ClickException(f"{file}: it is of the commit tier; the gate tier decides")
    is_clean = flags == ["0"] and "FAILED:" not in text
    return TierReport(GateTier.CLEAN if is_clean else GateTier.FAILED, provider, model)
