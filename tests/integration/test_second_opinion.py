"""A second opinion from a server of chat completions on the loopback: asked, weighed, stored, replayed, believed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any, Final

import pytest

from analyses.evidence import CitedText, Evidence
from analyses.gates import REASONS, RULES
from analyses.language_groups import find_group
from analyses.opinion import PROMPT
from analyses.snippets import page_text
from contracts.v1 import ClaimApproved, ClaimRejected, ClaimValidationFailed
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import Source
from kit.settings import SettingsError
from kit.sources import Page
from services.commands.investigation.review_replay import replay_review
from services.validator.opinion import SecondOpinion
from services.validator.sources import compare_with_page
from tests.integration.test_validator_service import world
from tests.support.factories import NOW, OTHER_QUOTE, QUOTE, TEXT, payload, proposed, requested, started
from tests.support.fakes import MemoryLog, MemoryTexts, ScriptedModel, verdict
from tests.support.judging import InMemory, Judge
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, message, openai_server
from tests.support.providers import CHAT, provider
from tests.support.servers import Servers
from tests.support.speeches import Chat
from tests.unit.validator.test_opinion import believed_from

pytest_plugins = ["tests.support.servers"]

GROUP: Final = find_group(TEXT)
USED: Final = {"input_tokens": 200, "output_tokens": 4, "total_tokens": 204}
SOURCE: Final = Source(url="https://one.example/a", title="A page", snippet="the first ascent was on 29 May 1953")
PAGE: Final = b"In the archive: the first ascent was on 29 May 1953. So it is recorded."


def said(words: str, **first: float) -> Answer:
    """An answer, and the probabilities of the alternatives to its first token, if the server tells them."""
    told = message(words)
    if first:
        top = [{"token": token, "logprob": log(p), "bytes": None} for token, p in first.items()]
        token = {"token": words.split("\n")[0], "logprob": 0.0, "bytes": None, "top_logprobs": top}
        space = {"token": "\n", "logprob": 0.0, "bytes": None, "top_logprobs": []}
        told["content"][0]["logprobs"] = {"content": [space, token]}
    return Answer((told,), usage=USED)


async def asked(*turns: Turn, alternatives: bool = True) -> tuple[float | None, list[Request]]:
    """The opinion that these answers are, and what was sent for it."""
    async with provider(CHAT, *turns) as (model, server):
        opinion = SecondOpinion(model, MemoryTexts(), alternatives=alternatives)
        found = await opinion.ask("It was in 1963.", ["It was in 1953."], "a-step", resume=False)
        return found.probability, server.requests


async def test_probabilities_of_tokens_are_asked_for_and_count_more_than_the_number() -> None:
    probability, (request,) = await asked(said("YES\n0.99", YES=0.72, NO=0.18, Maybe=0.1))
    assert probability == pytest.approx(0.8)
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 10)
    assert request.body["temperature"] == 0.0


async def test_a_server_that_tells_none_is_believed_by_its_number() -> None:
    probability, (request,) = await asked(said("YES\n0.97"), alternatives=False)
    assert probability == 0.97
    assert "logprobs" not in request.body


async def test_an_answer_that_was_stored_is_not_paid_for_again() -> None:
    texts = MemoryTexts()
    async with provider(CHAT, said("YES\n0.97")) as (model, server):
        opinion = SecondOpinion(model, texts)
        first = await opinion.ask("It was in 1963.", ["It was in 1953."], "a-step", resume=False)
        again = await opinion.ask("It was in 1963.", ["It was in 1953."], "a-step", resume=True)
        assert len(server.requests) == 1
    assert again.probability == first.probability == 0.97
    assert (again.usage.total_tokens, first.usage.total_tokens) == (204, 204)


class Archived:
    """The page, in the archive."""

    def __init__(self, blobs: MemoryTexts) -> None:
        self._blobs = blobs

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        blob = await self._blobs.put(PAGE, "text/plain")
        page = Page(SOURCE.url, blob, NOW, CitedText(page_text(PAGE.decode())), "text/plain")
        return tuple(compare_with_page(each, page) for each in sources)


async def test_a_replay_weighs_the_recorded_answer_by_the_threshold_of_then() -> None:
    policy = GatePolicy(
        rules=RULES,
        families=1,
        opinion=believed_from(0.9),
    )
    log_, blobs = MemoryLog(requested(), started()), MemoryTexts()
    async with provider(CHAT, said("YES\n0.8", YES=0.8, NO=0.2)) as (model, server):
        judge = Judge(InMemory(log_), verdict(approved=True), sources=Archived(blobs), policy=policy, opinion=model)
        log_.publish(claim := proposed(payload=payload(summary="It was in 1953.", sources=(SOURCE,))))
        (fact,) = (await judge.judge(claim)).facts
        assert isinstance(fact, ClaimRejected)
        assert fact.gate == "second_opinion"
        replayed = await replay_review(log_.entries[-1].sequence, fact, log_.entries, blobs)
        assert replayed.same, replayed
        assert len(server.requests) == 1, "a replay asks nobody"
    stricter = believed_from(0.7)
    other = fact.model_copy(update={"policy": policy.model_copy(update={"opinion": stricter})})
    assert not (await replay_review(log_.entries[-1].sequence, other, log_.entries, blobs)).same


async def test_a_refused_key_of_the_instance_is_no_fault_of_the_readers() -> None:
    policy = GatePolicy(rules=RULES, families=1, opinion=believed_from(0.9))
    log_, blobs = MemoryLog(requested(key_source="USER"), started(key_source="USER")), MemoryTexts()
    async with provider(CHAT, HttpError(401)) as (model, _):
        judge = Judge(InMemory(log_), sources=Archived(blobs), policy=policy, opinion=model)
        log_.publish(claim := proposed(payload=payload(summary="It was in 1953.", sources=(SOURCE,))))
        (fact,) = (await judge.judge(claim)).facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.status_code, fact.fault) == (401, "RUN")


class Opinionated(OpenAIServer):
    """A server that is sure about one sentence and not about the other."""

    def turn(self, request: Request) -> Turn:
        sure = QUOTE in json.dumps(request.body["messages"], ensure_ascii=False)
        return said("YES\n0.99", YES=0.98, NO=0.02) if sure else said("NO\n0.3", YES=0.3, NO=0.7)


def calibrated(path: Path, right: int) -> Path:
    """A file of so many answers, all of them right."""
    answer: dict[str, Any] = {"model": "llama-4", "prompt": PROMPT.version, "group": GROUP}
    path.write_text("\n".join(json.dumps(answer | {"score": 0.95, "is_right": True}) for _ in range(right)))
    return path


def configure(environment: pytest.MonkeyPatch, server: OpenAIServer, path: Path) -> None:
    """The settings of an instance with a second opinion."""
    prefix = "OPENERRATA_VALIDATOR_OPINION_"
    environment.setenv(f"{prefix}MODEL", "chat_completions:llama-4")
    environment.setenv(f"{prefix}FAMILY", "llama")
    environment.setenv("OPENERRATA_INVESTIGATOR_FAMILIES", "gpt")
    environment.setenv(f"{prefix}BASE_URL", server.url)
    environment.setenv(f"{prefix}CALIBRATION", str(path))


@pytest.mark.requirement("TR-47", "TR-49")
async def test_the_gate_stops_its_case_and_passes_the_twin(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TR-47: Each gate stops its case and passes the twin
    TR-49: A threshold of a second opinion keeps wrong ones to 1 % with 95 %, and small groups abstain
    """
    async with openai_server(Opinionated(Chat())) as server:
        configure(monkeypatch, server, calibrated(tmp_path / "answers.jsonl", 299))
        async with world(tmp_path / "broker", stack, monkeypatch, ScriptedModel()) as at:
            passed, stopped = await at.judged(at.cites(QUOTE, "/record"), at.cites(OTHER_QUOTE, "/record"))
        assert isinstance(passed, ClaimApproved)
        assert (passed.gates[-1].gate, passed.gates[-1].outcome) == ("second_opinion", "PASS")
        assert passed.opinion is not None
        assert passed.opinion.probability == pytest.approx(0.98)
        assert isinstance(stopped, ClaimRejected)
        assert (stopped.gate, stopped.reason) == ("second_opinion", REASONS["OPINION_NOT_SURE"])
        assert len(at.model.reviews) == 1
        assert len(server.requests) == 2


@pytest.mark.requirement("TR-49")
async def test_a_language_with_too_few_answers_abstains(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TR-49: A threshold of a second opinion keeps wrong ones to 1 % with 95 %, and small groups abstain"""
    async with openai_server(Opinionated(Chat())) as server:
        configure(monkeypatch, server, calibrated(tmp_path / "answers.jsonl", 298))
        async with world(tmp_path / "broker", stack, monkeypatch, ScriptedModel()) as at:
            (stopped,) = await at.judged(at.cites(QUOTE, "/record"))
        assert isinstance(stopped, ClaimRejected)
        assert stopped.gates[-1].code == "OPINION_NOT_CALIBRATED"


@pytest.mark.requirement("TR-48")
async def test_a_validator_whose_opinion_is_of_the_proposers_family_does_not_start(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TR-48: A second opinion by the proposer's own family of models refuses to start"""
    async with openai_server(Opinionated(Chat())) as server:
        configure(monkeypatch, server, calibrated(tmp_path / "answers.jsonl", 299))
        monkeypatch.setenv("OPENERRATA_INVESTIGATOR_FAMILIES", "Llama")
        with pytest.raises(SettingsError, match="OPENERRATA_VALIDATOR_OPINION_FAMILY and OPENERRATA_INVESTIGATOR"):
            async with world(tmp_path / "broker", stack, monkeypatch, ScriptedModel()):
                raise AssertionError("it has started")
