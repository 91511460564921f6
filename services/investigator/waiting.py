"""Metrics of open investigations, which show a stuck concluder.

An investigation with a draft waits for verdicts and the concluder only: minutes at most; while a claim of it is held,
it does not count. Ages are computed when the metrics are read, so they grow even if the concluder does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from prometheus_client import CollectorRegistry, Gauge

from contracts.v1 import ClaimApproved, ClaimHeld, ClaimRejected, Event, InvestigationDrafted, InvestigationRequested


@dataclass(slots=True)
class _Since:
    """When an investigation was requested, and when it got its draft. Shapes: `held` are its held claims."""

    requested: datetime
    drafted: datetime | None = None
    held: set[UUID] = field(default_factory=set)


class OpenInvestigations:
    """When each open investigation was requested and got its draft. Units: times of the log, UTC."""

    def __init__(self, registry: CollectorRegistry, now: Callable[[], datetime]) -> None:
        self._now = now
        self._open: dict[str, _Since] = {}
        self._position = Gauge("openerrata_conclude_position", "Last sequence that was folded", registry=registry)
        count = Gauge("openerrata_conclude_open", "Investigations that have not ended", registry=registry)
        count.set_function(lambda: len(self._open))
        oldest = Gauge(
            "openerrata_conclude_oldest_seconds",
            "Age of the oldest investigation that has not ended, since its request and since its draft",
            ("since",),
            registry=registry,
        )
        oldest.labels("requested").set_function(lambda: self._age(each.requested for each in self._open.values()))
        oldest.labels("drafted").set_function(
            lambda: self._age(
                each.drafted for each in self._open.values() if each.drafted is not None and not each.held
            )
        )

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None:
        """A fact of an open investigation was folded."""
        self._position.set(sequence)
        since = self._open.setdefault(key, _Since(at))
        if isinstance(event, InvestigationDrafted):
            since.drafted = since.drafted or at
        elif isinstance(event, ClaimHeld):
            since.held.add(event.claim_id)
        elif isinstance(event, ClaimApproved | ClaimRejected) and event.claim_id in since.held:
            since.held.remove(event.claim_id)
            since.drafted = at if since.drafted else None  # it has waited for the hold
        elif isinstance(event, InvestigationRequested):  # another round has no draft yet
            since.drafted = None
            since.held.clear()

    def passed(self, sequence: int) -> None:
        """A fact of an investigation that is over was folded."""
        self._position.set(sequence)

    def ended(self, key: str) -> None:
        """An investigation is over."""
        self._open.pop(key, None)

    def clear(self) -> None:
        """The fold starts again."""
        self._open.clear()

    def _age(self, since: Iterable[datetime]) -> float:
        oldest = min(since, default=None)
        return 0.0 if oldest is None else max(0.0, (self._now() - oldest).total_seconds())
