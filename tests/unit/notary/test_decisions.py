"""Which facts are decisions, and what of them can be read in the log by whom."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.topology import ERRATA, stream_of
from contracts.v1 import (
    EVENTS,
    ErasureOrdered,
    ReviewDecided,
    decode,
    envelope_type,
)
from contracts.v1.erasure import ErasedFact
from contracts.v1.investigation import CANCELLED
from services.notary.decisions import LOGGED, NOT_LOGGED, Fact, find_verdicts, make_entry
from services.notary.documents import Run
from services.notary.placing import Batch, Known, place
from tests.contract.schemas import examples
from tests.unit.projector.histories import Page, Tape, digest, mixed, uid
from tlog.leaf import Leaf, LeafInvalid, commit, parse_leaf

PAGE = Page("en:7")
RUNS = {
    PAGE.investigation_id: Run(
        PAGE.started(),
        PAGE.drafted(3),
        {PAGE.claim(0)[0]: PAGE.approved(0), PAGE.claim(1)[0]: PAGE.rejected(1), PAGE.claim(2)[0]: PAGE.approved(2)},
    )
}


def facts_of(tape: Tape) -> list[Fact]:
    """Its decisions, as the ledger gives them."""
    decoded = [(record, decode(record.subject, record.data)) for record in tape.records]
    return [
        Fact(record.sequence, envelope.id, record.time, envelope.event, envelope.salt)
        for record, envelope in decoded
        if isinstance(envelope.event, LOGGED)
    ]


def day() -> Tape:
    """A result of two findings, one of which is suspended, reviewed and retracted."""
    tape = Tape()
    tape.add(*PAGE.investigated())
    tape.add(PAGE.changed(0, "SUSPENDED"))
    claim = PAGE.claim(2)[0]
    reviewed = ReviewDecided(
        claim_id=claim, sample_id=uid("s"), verdict="RIGHT", reviewer="A", decided_on=tape.now.date()
    )
    tape.add(reviewed, PAGE.changed(0, "RETRACTED", follows=11))
    return tape


def kinds(batch: Batch) -> list[str]:
    """Of its leaves, in their order."""
    return [each.entry.leaf.k for each in batch.placed]


@pytest.mark.requirement("TR-3")
def test_every_event_is_a_decision_or_is_said_not_to_be() -> None:
    """TR-3: The leaves of the decision log are decided for every event."""
    assert set(LOGGED).isdisjoint(NOT_LOGGED)
    assert set(LOGGED) | NOT_LOGGED == set(EVENTS)
    assert {stream_of(event).name for event in LOGGED} == {ERRATA.name}, "the notary reads no other"
    for event in LOGGED:
        for example in examples(event).values():
            envelope = envelope_type(event).model_validate(example)
            fact = Fact(1, envelope.id, envelope.occurred_at, envelope.event, envelope.salt)
            assert make_entry(fact, ()) is not None, event.__name__


def test_a_day_becomes_leaves_that_refer_to_one_another() -> None:
    batch = place(facts_of(day()), RUNS, Known(), 40)
    assert kinds(batch) == ["found", "suspended", "review_decided", "retracted"]
    assert [each.entry.leaf.ref for each in batch.placed] == [(), (40,), (40,), (40,)]
    found = batch.placed[0].entry
    assert (found.leaf.n, found.leaf.g, found.leaf.a) == (2, {"model": 1}, "FACT_CHECK")
    run, first, second = (orjson.loads(opening.document) for opening in found.openings)
    assert run["contentHash"] == digest(PAGE.text)
    assert run["address"] == PAGE.url
    assert (first["text"], second["text"]) == ("Wrong sentence 0.", "Wrong sentence 2.")
    assert [each["url"] for each in first["sources"]] == ["https://source.example/1"]


@pytest.mark.requirement("TR-2")
def test_a_leaf_holds_nothing_that_could_be_guessed() -> None:
    """TR-2: The decision log names nothing that could be guessed: no id, address, word or unsalted hash."""
    batch = place(facts_of(day()), RUNS, Known(), 0)
    documents = [orjson.loads(opening.document) for each in batch.placed for opening in each.entry.openings]
    guesses = {each for document in documents for each in _strings(document) if len(each) > 12}
    assert guesses >= {PAGE.url, digest(PAGE.text), str(PAGE.investigation_id), "Wrong sentence 0."}
    leaves = b"\n".join(each.entry.leaf.encode() for each in batch.placed).decode()
    assert not [each for each in guesses if each in leaves]
    for each in batch.placed:
        for opening in each.entry.openings:
            assert opening.commitment not in (commit(b"", opening.document), commit(bytes(32), opening.document))


def test_what_another_salt_opens_is_another_commitment() -> None:
    (fact, *_) = facts_of(day())
    one, other = (make_entry(each, ()) for each in (fact, replace(fact, salt="A" * 43)))
    assert one is not None
    assert other is not None
    assert set(one.leaf.c).isdisjoint(other.leaf.c)
    assert one.leaf.model_copy(update={"c": ()}) == other.leaf.model_copy(update={"c": ()})


@pytest.mark.requirement("TR-4")
@given(seed=st.integers(0, 200), cuts=st.lists(st.integers(1, 9), max_size=8), repeated=st.integers(0, 8))
def test_the_same_facts_give_the_same_leaves(seed: int, cuts: list[int], repeated: int) -> None:
    """TR-4: The same facts give the same tree, and a fact is one leaf."""
    facts = facts_of(mixed(6, seed)[0])
    whole = [each.entry.leaf.encode() for each in place(facts, {}, Known(), 0).placed]
    assert len(whole) == len({fact.id for fact in facts})
    events: dict[UUID, int] = {}
    subjects: dict[UUID, int] = {}
    sequences: dict[int, int] = {}
    leaves: list[bytes] = []
    again = iter(facts)
    for place_of_cut, size in enumerate([*cuts, len(facts)]):
        batch = [fact for _, fact in zip(range(size), again, strict=False)]
        if leaves and place_of_cut >= repeated:
            batch.insert(0, facts[0])
        placed = place(batch, {}, Known(events, subjects, sequences), len(leaves)).placed
        leaves += [each.entry.leaf.encode() for each in placed]
        events |= {each.fact.id: each.index for each in placed}
        sequences |= {each.fact.sequence: each.index for each in placed}
        for each in placed:
            for subject in each.entry.subjects:
                subjects.setdefault(subject, each.index)
    assert leaves == whole


def test_an_erasure_names_its_leaves_and_takes_what_they_opened() -> None:
    tape = day()
    named = tuple(ErasedFact(sequence=record.sequence, hash="0" * 64) for record in tape.records)
    tape.add(ErasureOrdered(erasure_id=uid("e"), post_id=PAGE.post_id, reason="asked for", facts=named))
    batch = place(facts_of(tape), RUNS, Known(), 7)
    assert kinds(batch)[-1] == "redacted"
    assert batch.placed[-1].entry.leaf.ref == (7, 8, 9, 10)
    assert [(each.entry.openings, each.entry.subjects) for each in batch.placed] == [((), ())] * 5
    later = place(facts_of(tape)[-1:], {}, Known(sequences={10: 3, 11: 4}), 7)
    assert (later.placed[0].entry.leaf.ref, set(later.erased)) == ((3, 4), {3, 4})


def test_what_was_erased_before_it_was_entered_is_a_leaf_all_the_same() -> None:
    erased = [replace(fact, event=None, salt=None) for fact in facts_of(day())]
    assert kinds(place(erased, {}, Known(), 0)) == ["erased"] * 4


def test_an_end_without_a_result_says_how_it_ended() -> None:
    tape = Tape()
    tape.add(PAGE.failed(), PAGE.failed(2).model_copy(update={"reason": CANCELLED}))
    leaves = [each.entry.leaf for each in place(facts_of(tape), {}, Known(), 0).placed]
    assert [(leaf.k, leaf.why) for leaf in leaves] == [("failed", "NON_RETRYABLE"), ("cancelled", None)]


def test_names_that_no_code_chose_do_not_stop_the_log() -> None:
    odd = PAGE.rejected(1).model_copy(update={"gate": "Ünknown gate!"})
    completed = PAGE.completed((0,)).model_copy(update={"analysis": "another kind"})
    fact = Fact(1, uid("x"), day().now, completed, "A" * 43)
    entry = make_entry(fact, (), Run(verdicts={PAGE.claim(1)[0]: odd}))
    assert entry is not None
    assert (entry.leaf.g, entry.leaf.a) == ({"other": 1}, None)


def test_verdicts_are_found_by_the_ids_they_have() -> None:
    wanted = find_verdicts(PAGE.completed((0, 2)), PAGE.drafted(3))
    assert {PAGE.approved(0).event_id(), PAGE.rejected(1).event_id(), PAGE.approved(2).event_id()} <= set(wanted)


@given(st.data())
def test_a_leaf_has_one_form(data: st.DataObject) -> None:
    leaves = [each.entry.leaf for each in place(facts_of(day()), RUNS, Known(), 0).placed]
    encoded = data.draw(st.sampled_from(leaves)).encode()
    assert parse_leaf(encoded).encode() == encoded
    at = data.draw(st.integers(0, len(encoded) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = encoded[:at] + bytes([byte]) + encoded[at + 1 :]
    try:
        assert parse_leaf(changed) != parse_leaf(encoded) or changed == encoded
    except LeafInvalid:
        assert changed != encoded


def test_fields_that_no_version_has_are_refused() -> None:
    leaf = Leaf(k="log", t=1)
    assert parse_leaf(leaf.encode()) == leaf
    for wrong in (b'{"k":"log","t":1,"v":1,"x":2}', b'{"k":"log","t":1,"v":2}', b'{"t":1,"k":"log","v":1}', b"[]"):
        with pytest.raises(LeafInvalid):
            parse_leaf(wrong)


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [each for item in value.values() for each in _strings(item)]
        case list():
            return [each for item in value for each in _strings(item)]
        case _:
            return []
