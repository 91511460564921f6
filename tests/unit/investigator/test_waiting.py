"""What waits for its end is seen, also while nothing moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from contracts.v1 import ClaimHeld
from services.investigator.waiting import OpenInvestigations
from tests.unit.projector.histories import Page

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def test_the_oldest_that_is_open_is_told_by_what_it_waits_for() -> None:
    registry, now = CollectorRegistry(), [START]
    waiting = OpenInvestigations(registry, lambda: now[0])

    def shown() -> tuple[float | None, ...]:
        name = "openerrata_conclude_oldest_seconds"
        ages = (registry.get_sample_value(name, {"since": since}) for since in ("requested", "drafted"))
        return (
            registry.get_sample_value("openerrata_conclude_position"),
            registry.get_sample_value("openerrata_conclude_open"),
            *ages,
        )

    one, other = Page("one"), Page("other")
    assert shown() == (0, 0, 0, 0)
    waiting.seen(1, "one", one.requested(), START)
    waiting.seen(2, "other", other.requested(), START + timedelta(seconds=10))
    waiting.seen(3, "other", other.drafted(), START + timedelta(seconds=20))
    now[0] = START + timedelta(seconds=60)
    assert shown() == (3, 2, 60, 40)
    now[0] += timedelta(seconds=60)
    assert shown() == (3, 2, 120, 100), "nothing moves, and it is seen"
    waiting.seen(4, "other", other.requested(2), now[0])
    assert shown() == (4, 2, 120, 0), "another round begins without a draft"
    waiting.passed(9)
    waiting.ended("one")
    assert shown() == (9, 1, 110, 0)
    waiting.clear()
    assert shown() == (9, 0, 0, 0)


def test_a_run_whose_claim_is_held_is_not_stuck() -> None:
    registry, now = CollectorRegistry(), [START]
    waiting = OpenInvestigations(registry, lambda: now[0])
    page, approval = Page("one"), Page("one").approved(0)
    held = ClaimHeld(
        investigation_id=approval.investigation_id, claim_id=approval.claim_id, approval=approval, held_at=START
    )

    def age() -> float | None:
        return registry.get_sample_value("openerrata_conclude_oldest_seconds", {"since": "drafted"})

    waiting.seen(1, "one", page.requested(), START)
    waiting.seen(2, "one", page.drafted(1), START)
    waiting.seen(3, "one", held, START)
    now[0] += timedelta(hours=1)
    assert age() == 0
    waiting.seen(4, "one", approval, now[0])
    now[0] += timedelta(seconds=30)
    assert age() == 30
