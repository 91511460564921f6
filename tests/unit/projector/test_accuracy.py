"""Variants, breakers and controls as rows: the newest event of each, and of a control nothing for readers."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from contracts.v1 import BreakerChanged, ControlCommitted, ControlOpened, Event, InvestigationRequested, VariantChanged
from contracts.v1.control import OpenedControl, commit_to
from contracts.v1.gates import GatePolicy
from contracts.v1.ids import investigation_id
from contracts.v1.variant import VariantParts
from services.projector.facts.fact import Fact
from services.projector.projections.errata import fold
from services.projector.projections.material import Material
from services.projector.rows.accuracy import BREAKERS, CONTROL_BATCHES, CONTROL_RUNS, VARIANTS
from services.projector.rows.table import Tables
from tests.unit.projector.histories import START, uid

ONE, OTHER = uid("one"), uid("other")
SALTS = {ONE: "1" * 64, OTHER: "2" * 64}
BATCH = ControlCommitted(commitment=commit_to(SALTS.items()), size=2, closes_at=START + timedelta(days=20))
PARTS = VariantParts(prompt="a" * 64, prompt_version="v1", provider="p", model="m", gates=GatePolicy(rules="1"))


def folded(*events: Event) -> Tables:
    tables = Tables()
    facts = [Fact(n, uid(f"{n}"), START + timedelta(hours=n), uid("c"), event) for n, event in enumerate(events, 1)]
    fold(tables, facts, Material())
    return tables


def volume(state: str, quota: int | None = None) -> VariantChanged:
    return VariantChanged.model_validate(
        {
            "variant": PARTS.sha256,
            "parts": PARTS,
            "state": state,
            "quota": quota,
            "since": START,
            "why": "so it is",
            "by": "curator",
        }
    )


def breaker(state: str, trigger: str | None = None, **more: object) -> BreakerChanged:
    return BreakerChanged.model_validate({"scope": "ALL", "state": state, "trigger": trigger, "by": "curator", **more})


def run(version: UUID) -> InvestigationRequested:
    return InvestigationRequested(
        investigation_id=investigation_id(version, "FACT_CHECK", "CONTROL", BATCH.batch_id),
        version_id=version,
        post_id=uid("post"),
        analysis="FACT_CHECK",
        origin="CONTROL",
        origin_id=BATCH.batch_id,
        requested_by="SELECTOR",
    )


def test_the_newest_volume_of_a_variant_counts_and_it_keeps_when_it_was_announced() -> None:
    (row,) = folded(volume("SHADOW"), volume("LIMITED", 10))[VARIANTS].current
    assert (row.state, row.quota, row.sequence, row.announced_at) == ("LIMITED", 10, 2, START + timedelta(hours=1))
    assert VariantParts.model_validate(row.parts) == PARTS


def test_the_gates_own_hosts_are_no_part_of_a_variant_and_everything_else_is() -> None:
    gates = PARTS.gates
    assert gates is not None
    moved = PARTS.model_copy(update={"gates": gates.model_copy(update={"own_hosts": ("errata.example",)})})
    other = PARTS.model_copy(update={"gates": gates.model_copy(update={"families": 1})})
    assert moved.sha256 == PARTS.sha256
    assert len({PARTS.sha256, other.sha256, PARTS.model_copy(update={"model": "n"}).sha256}) == 3


def test_a_breaker_gathers_its_triggers_until_it_opens_anew() -> None:
    tables = folded(breaker("OPEN", "FALSE_FLAG"), breaker("OPEN", "EVIDENCE"), breaker("HALF_OPEN", cause="c"))
    (row,) = tables[BREAKERS].current
    assert [each["trigger"] for each in row.triggers] == ["FALSE_FLAG", "EVIDENCE"]
    assert (row.state, row.opened_at, row.since, row.since_sequence) == (
        "HALF_OPEN",
        START + timedelta(hours=1),
        START + timedelta(hours=3),
        3,
    )
    history = breaker("OPEN", "FALSE_FLAG"), breaker("CLOSED", quota=10), breaker("OPEN", "EVIDENCE")
    (row,) = folded(*history)[BREAKERS].current
    assert [each["trigger"] for each in row.triggers] == ["EVIDENCE"]
    assert (row.state, row.quota, row.opened_at, row.since_sequence) == ("OPEN", None, START + timedelta(hours=3), 2)


def test_a_run_is_a_control_only_if_its_list_was_committed_to_before() -> None:
    assert folded(run(ONE), BATCH)[CONTROL_RUNS].current == []
    assert [row.post_version_id for row in folded(BATCH, run(ONE))[CONTROL_RUNS].current] == [ONE]


def test_a_set_of_posts_for_the_bench_is_no_list_of_controls() -> None:
    tables = folded(BATCH.model_copy(update={"holds": "CASES"}), run(ONE))
    assert (tables[CONTROL_BATCHES].current, tables[CONTROL_RUNS].current) == ([], [])


def test_no_control_begins_once_its_list_is_closed_or_open() -> None:
    closed = ControlCommitted(commitment=BATCH.commitment, size=2, closes_at=START)
    assert folded(closed, run(ONE))[CONTROL_RUNS].current == []
    opened = ControlOpened(
        batch_id=BATCH.batch_id,
        controls=tuple(OpenedControl(version_id=id_, salt=salt, outcome="CLEAN") for id_, salt in SALTS.items()),
    )
    tables = folded(BATCH, run(ONE), opened, run(OTHER))
    (row,) = tables[CONTROL_RUNS].current
    assert (row.salt, row.outcome) == (SALTS[ONE], "CLEAN")
    assert [each.opened_at for each in tables[CONTROL_BATCHES].current] == [START + timedelta(hours=3)]
