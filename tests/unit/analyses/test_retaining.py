"""An old finding is kept by its id, and only where its words still stand."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from analyses.flagging import Earlier, Material, Rejection
from analyses.kinds import InvalidSubmission
from contracts.v1.parts import ClaimPayload, PublishedClaim, Source
from tests.support.kinds import FACT_CHECK

QUOTE = "Bats are blind."
TEXT = f"A word on animals, first. {QUOTE} So it is said."


def claim(number: int, quote: str = QUOTE, context: str | None = None) -> PublishedClaim:
    return PublishedClaim(
        claim_id=UUID(int=number),
        payload=ClaimPayload(
            text=quote,
            context=quote if context is None else context,
            summary="They see.",
            reasoning="All see.",
            sources=(Source(url="https://example.org", title="Bats", snippet="They see."),),
        ),
    )


OLD = (claim(1, context=f"On animals. {QUOTE} Is that so?"), claim(2, "Cats bark."))


def material(text: str, old_claims: tuple[PublishedClaim, ...] = ()) -> Material:
    return Material("X", "https://x.com", text, earlier=Earlier(old_claims, ""))


def decide(arguments: object, text: str = TEXT) -> ClaimPayload | UUID:
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return FACT_CHECK.update.decide("retain_correction", said, material(text, OLD))


@pytest.mark.requirement("2.4.3-05")
def test_the_tool_offers_the_old_ids_and_only_where_there_are_some() -> None:
    """2.4.3-05: Keeping an old claim is possible in update runs only."""
    *fresh, retain = FACT_CHECK.update.tools(material(TEXT, OLD))
    assert tuple(fresh) == FACT_CHECK.update.tools(material(TEXT)) == FACT_CHECK.look.tools(material(TEXT))
    properties = retain.parameters["properties"]
    assert isinstance(properties, dict)
    assert properties["id"] == properties["id"] | {"type": "string", "enum": [str(old.claim_id) for old in OLD]}  # type: ignore[operator]  # an object
    assert (retain.parameters["required"], retain.parameters["additionalProperties"]) == (["id"], False)


def test_an_old_finding_is_kept_by_its_id() -> None:
    assert decide({"id": str(OLD[0].claim_id)}) == OLD[0].claim_id


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "arguments"),
        ({}, "id"),
        ({"id": "first"}, "id"),
        ({"id": None}, "id"),
        ({"id": str(OLD[0].claim_id), "why": "x"}, "why"),
        ({"id": str(UUID(int=9))}, "no correction"),
        ({"id": str(OLD[1].claim_id)}, "not in the post any more"),
    ],
)
def test_what_cannot_be_kept_is_answered_with_the_reason(arguments: object, said: str) -> None:
    with pytest.raises(InvalidSubmission, match=said):
        decide(arguments)


def test_words_that_now_stand_at_two_places_are_not_kept() -> None:
    with pytest.raises(InvalidSubmission, match="not at one place alone"):
        decide({"id": str(OLD[0].claim_id)}, f"{TEXT} Once more: {QUOTE} Yes.")


@pytest.mark.requirement("2.4.4-05")
def test_a_kept_finding_stands_in_the_words_around_it_now() -> None:
    """2.4.4-05: Markdown signs are taken out of quotes before they are stored."""
    here = FACT_CHECK.retain(OLD[0].payload, TEXT)
    assert isinstance(here, ClaimPayload)
    assert here.context in TEXT
    assert here.model_copy(update={"context": OLD[0].payload.context}) == OLD[0].payload
    assert FACT_CHECK.check(here, TEXT) is None
    assert isinstance(FACT_CHECK.retain(OLD[1].payload, TEXT), Rejection)


@pytest.mark.parametrize(
    ("quote", "before", "now"),
    [
        ("5 million people live there", "Some 5 million people live there.", "Some 1.5 million people live there."),
        ("5 million people live there", "5 million people live there.", "15 million people live there."),
        ("legal to own a tank", "It is legal to own a tank.", "It is illegal to own a tank."),
        ("Prices rose by 5.", "Prices rose by 5.", "Prices rose by 5.3 per cent."),
        ("visible from the Moon", "It is visible from the Moon.", "It is not visible from the Moon."),
        ("It is round.", "We know. It is round.", "We know. Critics say: It is round."),
        ("it is round", "We know it is round. Yes.", "We know it is round, as some would have it. Yes."),
        ("Who came home", "That is Dr. Who came home.", "That was Dr. Who came home."),
        ("He is now here.", "He is now here.", "He is nowhere."),
        ("~5 people were there.", "~5 people were there.", "5 people were there."),
        ("東京は大阪です", "東京は大阪です。", "東京は大阪ですか。"),
    ],
)
def test_a_finding_whose_sentence_has_changed_is_not_kept(quote: str, before: str, now: str) -> None:
    old = claim(3, quote, before).payload
    assert FACT_CHECK.retain(old, before) == old
    assert isinstance(FACT_CHECK.retain(old, f"It begins here. {now} It ends here."), Rejection)


@pytest.mark.parametrize(
    ("quote", "before", "now"),
    [
        ("it is round", "We know it is round", "As of now: We know it is round, and old."),
        ("it is round", "Once more. We know it is round! Two.", "Once again. We know it is round! Three."),
        ('It is "round".', 'We know. It is "round". So', 'It is "round".'),
        ("It ran on oil.", "So it was. It ran on oil. One more.", "So it is. It ran on oil. Two more."),
        ("It cost 5.", "It cost 5. One more.", "Then. It cost 5. Two more."),
        ("Impfung", "Eine Impfung hilft.", "Neues Wort. Eine Impfung hilft. Sagt man."),
        ("東京は大阪", "そう。東京は大阪。もう", "今。東京は大阪。別"),
    ],
)
def test_a_finding_in_the_same_sentence_is_kept(quote: str, before: str, now: str) -> None:
    kept = FACT_CHECK.retain(claim(3, quote, before).payload, now)
    assert isinstance(kept, ClaimPayload)
    assert kept.text == quote


def test_without_old_findings_there_is_no_such_function() -> None:
    with pytest.raises(InvalidSubmission, match="no function"):
        FACT_CHECK.update.decide("retain_correction", json.dumps({"id": str(OLD[0].claim_id)}), material(TEXT))


def test_the_answer_does_not_repeat_what_was_handed_in() -> None:
    with pytest.raises(InvalidSubmission) as raised:
        decide({"id": "secret-words"})
    assert "secret-words" not in str(raised.value)
    assert raised.value.__context__ is None
