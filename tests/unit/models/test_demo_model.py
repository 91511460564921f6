"""The demo keeps the port's promises: labelled, ordered, repeatable, quick, and stricter in review than in search."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from uuid import UUID

import pytest
from pydantic import SecretStr

from analyses.flagging import Review
from contracts.transcript import Transcript
from contracts.v1.parts import ClaimPayload, PublishedClaim, Source
from kit.models.base import Article, Decision, Finished, KeyRefused, ModelError, ask
from kit.models.demo import DemoModel
from kit.models.demo_catalogue import Catalogue
from kit.models.replay import ReplayModel
from tests.support.demo_runs import FACT_CHECK, MODEL, brief, doubt, flagged, investigate, review, submitted
from tests.support.virtual import run_virtually

TEXT = "We talked for an hour. Bats are blind. The tea was good. Spiders are insects. We went home."
DISPUTED = "We talked for an hour. Breakfast is the most important meal of the day. The tea was good."


async def claim(text: str) -> ClaimPayload:
    return (await submitted(text))[0]


async def answer(claim: ClaimPayload, text: str) -> Review:
    return (await review(claim, text)).answer


def quotes(items: Sequence[object]) -> list[str]:
    decided = [item.value for item in items if isinstance(item, Decision)]
    return [value.text for value in decided if isinstance(value, ClaimPayload)]


async def test_it_says_everywhere_that_it_is_a_demonstration() -> None:
    _, finished = await investigate(TEXT)
    verdict = await review(await claim(TEXT), TEXT)
    assert MODEL.labelled_demo is True
    assert MODEL.sees_pictures is False, "it needs no internet"
    assert (MODEL.name.provider, MODEL.name.model) == ("demo", "demo-catalogue")
    assert finished.model == verdict.model == MODEL.name
    for record in (finished.transcript, verdict.transcript):
        transcript = Transcript.model_validate_json(record)
        assert transcript.protocol == "demo"
        assert transcript.calls[0].request["demo"] is True
    assert "Demonstration" in finished.answer
    assert finished.usage.total_tokens == 0


async def test_the_same_text_gives_the_same_run() -> None:
    assert await investigate(TEXT) == await investigate(TEXT, DemoModel())


async def test_a_submission_is_refused_by_the_reader_and_the_run_goes_on() -> None:
    def refuse_bats(name: str, arguments: str) -> ClaimPayload | UUID:
        if "Bats are blind" in json.loads(arguments)["text"]:
            raise ValueError("not this one")
        return asked.decide(name, arguments)

    asked = brief(TEXT)
    steps = [step async for step in MODEL.converse(replace(asked, decide=refuse_bats))]
    assert quotes(steps) == ["Spiders are insects."]
    assert isinstance(steps[-1], Finished)
    assert "Bats are blind." in steps[-1].transcript.decode()


@pytest.mark.requirement("2.4.3-05", "2.4.3-06")
async def test_what_was_found_before_and_still_stands_is_kept_and_the_rest_is_new_or_gone() -> None:
    """2.4.3-05: Keeping an old claim is possible in update runs only.
    2.4.3-06: Old claims that are not kept disappear.
    """
    first = [PublishedClaim(claim_id=UUID(int=1), payload=await claim(TEXT))]
    gone = PublishedClaim(claim_id=UUID(int=2), payload=first[0].payload.model_copy(update={"text": "It is gone."}))
    edited = f"{TEXT} We came back."
    steps = [step async for step in MODEL.converse(brief(edited, [*first, gone]))]
    kept, new, end = steps
    assert isinstance(kept, Decision)
    assert kept.value == UUID(int=1)
    assert isinstance(new, Decision)
    assert isinstance(new.value, ClaimPayload)
    assert new.value.text == "Spiders are insects."
    assert isinstance(end, Finished)


async def test_what_may_not_be_kept_is_handed_in_as_new() -> None:
    def keep_nothing(name: str, arguments: str) -> ClaimPayload | UUID:
        if name == "retain_correction":
            raise ValueError("not that one")
        return asked.decide(name, arguments)

    old = [PublishedClaim(claim_id=UUID(int=1), payload=await claim(TEXT))]
    asked = brief(TEXT, old)
    steps = [step async for step in MODEL.converse(replace(asked, decide=keep_nothing))]
    assert quotes(steps) == [
        "Bats are blind.",
        "Spiders are insects.",
    ]


async def test_without_the_tool_nothing_is_kept() -> None:
    asked = replace(brief(TEXT), subject=Article(TEXT, {UUID(int=1): "Bats are blind."}))
    steps = [step async for step in MODEL.converse(asked)]
    assert [type(step) for step in steps] == [Decision, Decision, Finished]


async def test_a_recorded_demonstration_is_told_again_by_another_catalogue() -> None:
    old = [PublishedClaim(claim_id=UUID(int=1), payload=await claim(TEXT))]
    steps = [step async for step in MODEL.converse(brief(TEXT, old))]
    assert isinstance(steps[-1], Finished)
    verdict = await review(await claim(TEXT), TEXT)
    another = DemoModel(known=Catalogue("0", (), {}))
    assert [type(step) async for step in another.converse(brief(TEXT, old))] == [Finished]
    record = Transcript.model_validate_json(steps[-1].transcript)
    assert [step async for step in ReplayModel(record).converse(brief(TEXT, old))] == steps
    record = Transcript.model_validate_json(verdict.transcript)
    assert await ask(ReplayModel(record), doubt(await claim(TEXT), TEXT)) == verdict


async def test_a_step_that_the_catalogue_knows_nothing_of_is_refused() -> None:
    with pytest.raises(ModelError, match="FACT_CHECK/update") as raised:
        await ask(MODEL, replace(brief(TEXT), subject=None))
    assert raised.value.failure == "NON_RETRYABLE"


@pytest.mark.requirement("2.4-06")
async def test_what_is_disputed_is_proposed_and_then_rejected_with_a_reason() -> None:
    """2.4-06: Only validated claims are published."""
    assert await flagged(DISPUTED) == ["Breakfast is the most important meal of the day."]
    verdict = await answer(await claim(DISPUTED), DISPUTED)
    assert not verdict.approved
    assert verdict.reason == "Serious sources disagree about this; only what is beyond dispute may be shown."


async def test_review_reads_further_around_the_quote_than_the_search_did() -> None:
    text = f"This is a list of wrong statements. We made it on a train. {TEXT}"
    assert "Bats are blind." in await flagged(text)
    verdict = await answer(await claim(text), text)
    assert not verdict.approved
    assert verdict.reason == "The sentences around the quote leave room for another reading."


async def test_review_approves_what_is_plain() -> None:
    verdict = await answer(await claim(TEXT), TEXT)
    assert verdict.approved
    assert verdict.reason is None


async def test_review_trusts_nothing_of_the_candidate() -> None:
    good = await claim(TEXT)
    foreign = Source(url="https://example.org", title="t", snippet="s")
    for changes in (
        {"text": "The tea was good.", "context": TEXT},
        {"context": "Somewhere else."},
        {"sources": (foreign,)},
    ):
        assert not (await answer(good.model_copy(update=changes), TEXT)).approved
    assert not (await answer(good, "Another text.")).approved


async def test_the_context_is_about_ten_words_on_either_side() -> None:
    text = f"{'word ' * 30}end. Bats are blind. {'more ' * 30}"
    assert (await claim(text)).context == f"{'word ' * 9}end. Bats are blind. {'more ' * 10}".strip()


async def test_a_repeated_quote_gets_a_context_that_tells_the_place() -> None:
    text = f"Now. Bats are blind. {'We slept. ' * 20}Now. Bats are blind. We ate."
    found = await claim(text)
    assert FACT_CHECK.check(found, text) is None


async def test_a_pace_puts_time_between_findings() -> None:
    async with aclosing(DemoModel(pace_s=0.05).converse(brief(TEXT))) as steps:
        started = time.monotonic()
        await anext(steps)
        await anext(steps)
        assert time.monotonic() - started >= 0.09


def test_runs_with_a_pace_do_not_hold_each_other_up() -> None:
    async def took_s(runs: int) -> float:
        model = DemoModel(pace_s=0.05)
        await asyncio.gather(*(investigate(TEXT, model) for _ in range(runs)))
        return asyncio.get_running_loop().time()

    assert run_virtually(took_s(20)) == run_virtually(took_s(1)) > 0


async def test_there_is_no_key_to_try() -> None:
    result = await MODEL.probe(SecretStr("sk-anything"))
    assert isinstance(result, KeyRefused)
    assert result.status == "error"


@pytest.mark.parametrize(
    "text",
    ["Bats are blind. " * 6000, "'a " * 33_000, '"a ' * 33_000, "a" * 100_000, ". " * 50_000, "A, " * 33_000,
     "The fox, which had slept, jumped over the dog's house in 1,200 days. " * 1400],
    ids=["repeats", "single quotes", "double quotes", "one word", "stops", "commas", "prose"],
)  # fmt: skip
async def test_the_time_grows_with_the_text_and_not_faster(text: str) -> None:
    async def best(article: str) -> float:
        times = []
        for _ in range(3):
            started = time.process_time()
            await investigate(article)
            times.append(time.process_time() - started)
        return min(times)

    whole, part = await best(text[:100_000]), await best(text[:12_500])
    # Eight times the text: eight times as long, or sixty-four if the time grew with its square.
    assert whole < 24 * part + 0.02
