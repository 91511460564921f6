"""The second opinion in the validator: it can only refuse, costs no review then, and is never paid for twice."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from analyses.gates import GATES, REASONS, RULES
from analyses.language_groups import find_group
from analyses.opinion import PROMPT, STEP, Weighed, write_parts
from contracts.v1 import ClaimApproved, ClaimRejected, ClaimValidationFailed, ClaimValidationRetryScheduled
from contracts.v1.gates import GatePolicy, OpinionPolicy, Threshold
from contracts.v1.parts import ModelName, Usage
from kit.model_settings import ModelSettings
from kit.models.base import Brief, Finished, KeyAccepted, KeyStatus, ModelError
from kit.settings import SettingsError
from services.validator.calibration import read_thresholds
from services.validator.settings import OpinionSettings
from tests.support.factories import QUOTE, TEXT, requested, started
from tests.support.fakes import MemoryLog, verdict
from tests.support.judging import InMemory, Judge
from tests.unit.validator.test_gates import SNIPPETS, Pages, claim

GROUP: Final = find_group(TEXT)


def believed_from(probability: float) -> OpinionPolicy:
    """A policy that believes an opinion of the usual text from this probability on."""
    return OpinionPolicy(family="llama", thresholds=(Threshold(group=GROUP, probability=probability),))


POLICY: Final = GatePolicy(rules=RULES, opinion=believed_from(0.9))
OTHER_FAMILY: Final = ModelName(provider="chat_completions", model="llama-4")


class Opinionated:
    """A model with an opinion; `asked` are its briefs."""

    name = OTHER_FAMILY
    labelled_demo = False
    sees_pictures = False

    def __init__(self, *answers: float | ModelError | None) -> None:
        self.answers = list(answers)
        self.asked: list[Brief[Any, Any]] = []

    async def converse(self, brief: Brief[Any, Any], key: SecretStr | None = None) -> AsyncGenerator[Any, None]:
        assert key is None, "the instance pays"
        self.asked.append(brief)
        answer = self.answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        yield Finished(Weighed(answer), Usage(total_tokens=5, cost_micro_usd=30), self.name, b"{}")

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


def judge(*answers: float | ModelError | None, verdicts: Sequence[Any] = ()) -> tuple[Judge, Opinionated]:
    """A validator whose reviewer approves, and its second model."""
    model = Opinionated(*answers)
    log = InMemory(MemoryLog(requested(), started()))
    reviews = verdicts or (verdict(approved=True, usage=Usage(total_tokens=7, cost_micro_usd=100)),)
    made = Judge(log, *reviews, sources=Pages(), policy=POLICY, opinion=model)
    return made, model


@pytest.mark.requirement("TR-47")
async def test_what_a_second_model_is_sure_of_is_reviewed_and_its_opinion_is_on_record() -> None:
    """TR-47: Each gate stops its case and passes the twin"""
    validator, _ = judge(0.95)
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimApproved)
    assert [each.gate for each in fact.gates] == [*GATES, "second_opinion"]
    assert all(each.outcome == "PASS" for each in fact.gates)
    assert fact.opinion is not None
    assert (fact.opinion.probability, fact.opinion.model, fact.opinion.prompt) == (0.95, OTHER_FAMILY, PROMPT)
    assert (fact.usage.total_tokens, fact.usage.cost_micro_usd) == (12, 130)
    assert fact.opinion.usage.cost_micro_usd == 30


@pytest.mark.requirement("TR-47")
@pytest.mark.parametrize(("answer", "code"), [(0.85, "OPINION_NOT_SURE"), (None, "OPINION_UNREADABLE")])
async def test_what_it_is_not_sure_of_costs_no_review(answer: float | None, code: str) -> None:
    """TR-47: Each gate stops its case and passes the twin"""
    validator, _ = judge(answer)
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimRejected)
    assert (fact.gate, fact.reason) == ("second_opinion", REASONS[code])
    assert (fact.gates[-1].outcome, fact.gates[-1].code) == ("ABSTAIN", code)
    assert (fact.usage.cost_micro_usd, fact.prompt) == (30, None)
    assert validator.model.reviews == []


async def test_it_sees_the_sentence_and_the_quotations_that_count_and_no_reasoning() -> None:
    validator, model = judge(0.95)
    given = claim(2, 0, 1)
    await validator.judge(given)
    (brief,) = model.asked
    assert brief.step == STEP
    assert brief.parts == write_parts(QUOTE, SNIPPETS[:2]), "and nothing of the post or the pages around them"
    for hidden in (SNIPPETS[2], given.payload.summary, given.payload.reasoning, "institute.example"):
        assert hidden not in brief.words + brief.instructions


async def test_a_claim_that_code_refuses_is_nobodys_question() -> None:
    validator, model = judge(0.95)
    (fact,) = (await validator.judge(claim(0, 2))).facts
    assert isinstance(fact, ClaimRejected)
    assert model.asked == []


async def test_a_failure_of_it_is_tried_again_and_never_an_approval() -> None:
    busy = ModelError("TRANSIENT", "busy", name="Http503", status_code=503)
    validator, _ = judge(busy, 0.95)
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimValidationRetryScheduled)
    assert (fact.reason, fact.opinion) == ("busy", None)
    assert validator.model.reviews == []
    (fact,) = (await validator.judge(claim(0, 1), 2)).facts
    assert isinstance(fact, ClaimApproved)


async def test_an_answer_that_was_cut_short_is_no_opinion() -> None:
    validator, _ = judge(ModelError("PARTIAL", "cut short", name="Incomplete", transcript=b"{}"))
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimRejected)
    assert fact.gates[-1].code == "OPINION_UNREADABLE"


async def test_a_worker_that_takes_over_has_the_answer_that_was_stored() -> None:
    """Its review fails for now; the next delivery goes on from the opinion's record, and its cost counts once."""
    busy = ModelError("TRANSIENT", "busy", name="Http503", status_code=503, usage=Usage(total_tokens=1))
    validator, _ = judge(0.95, 0.95, verdicts=(busy, verdict(approved=True, usage=Usage(cost_micro_usd=100))))
    first = (await validator.judge(claim(0, 1))).facts[0]
    assert isinstance(first, ClaimValidationRetryScheduled)
    assert first.usage.cost_micro_usd is None, "the opinion counts with the verdict"
    stored = validator.texts.steps
    assert [step for step in stored if step.endswith("-opinion")] != []
    await validator.judge(claim(0, 1), 2)
    steps = [step for step in validator.texts.looked_for if step.endswith("-opinion")]
    assert len(steps) == 1, "looked for when the delivery came again"
    assert steps[0] in stored


async def test_a_review_that_fails_for_good_counts_what_the_opinion_cost() -> None:
    broken = ModelError("NON_RETRYABLE", "no", name="Http400", status_code=400, usage=Usage(cost_micro_usd=100))
    validator, _ = judge(0.95, verdicts=(broken,))
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimValidationFailed)
    assert fact.usage.cost_micro_usd == 130


async def test_a_reader_s_key_is_not_at_fault_where_the_instance_pays_for_the_opinion() -> None:
    unpaid = ModelError("NON_RETRYABLE", "no credit", name="Http402", status_code=402)
    log = InMemory(MemoryLog(requested(key_source="USER"), started(key_source="USER")))
    validator = Judge(log, verdict(approved=True), sources=Pages(), policy=POLICY, opinion=Opinionated(unpaid))
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimValidationFailed)
    assert (fact.fault, fact.status_code) == ("RUN", 402)


def settings(**given: object) -> OpinionSettings:
    """Settings of an opinion by a local model."""
    return OpinionSettings.model_validate({"model": "chat_completions:llama-4", "family": "llama"} | given)


@pytest.mark.requirement("TR-48")
@pytest.mark.parametrize(
    ("family", "proposers", "provider", "failover"),
    [
        ("GPT", "gpt", "chat_completions", None),
        ("openai", "", "openai", None),
        ("Anthropic", "", "openai", "anthropic:claude"),
        ("llama", "gpt, Llama", "chat_completions", None),
    ],
)
def test_an_opinion_of_the_proposers_own_family_is_refused_at_the_start(
    family: str, proposers: str, provider: str, failover: str | None
) -> None:
    """TR-48: A second opinion by the proposer's own family of models refuses to start"""
    models = ModelSettings.model_validate({"investigator_families": proposers, "model_failover": failover})
    with pytest.raises(SettingsError) as caught:
        settings(family=family).require_other_family(ModelName(provider=provider, model="m"), models)
    assert "OPENERRATA_VALIDATOR_OPINION_FAMILY" in str(caught.value)
    assert "OPENERRATA_INVESTIGATOR_FAMILIES" in str(caught.value)


def test_families_must_be_known() -> None:
    local, openai = (ModelName(provider=each, model="m") for each in ("chat_completions", "openai"))
    named = ModelSettings.model_validate({"investigator_families": "qwen", "model_failover": "chat_completions:other"})
    settings().require_other_family(openai, ModelSettings())
    settings().require_other_family(local, named)
    with pytest.raises(SettingsError, match="OPENERRATA_INVESTIGATOR_FAMILIES is not set"):
        settings().require_other_family(local, ModelSettings())
    with pytest.raises(SettingsError, match="OPENERRATA_VALIDATOR_OPINION_FAMILY is not set"):
        settings(family=" ").require_other_family(openai, ModelSettings())


def write(path: Path, right: int, *, group: str = "en", model: str = "llama-4", wrong: int = 0) -> None:
    """Add answers, the right ones with 0.95 and the wrong ones with 0.4."""
    lines = [(0.95, True)] * right + [(0.4, False)] * wrong
    with path.open("a") as file:
        for score, is_right in lines:
            answer = {"model": model, "prompt": PROMPT.version, "group": group, "score": score, "is_right": is_right}
            file.write(json.dumps(answer) + "\n")


@pytest.mark.requirement("TR-49")
def test_thresholds_come_from_answers_of_this_model_and_small_groups_have_none(tmp_path: Path) -> None:
    """TR-49: A threshold of a second opinion keeps wrong ones to 1 % with 95 %, and small groups abstain"""
    path = tmp_path / "answers.jsonl"
    write(path, 299, wrong=50)
    write(path, 298, group="de")
    write(path, 500, group="fr", model="another")
    assert read_thresholds(path, "llama-4", PROMPT.version) == (Threshold(group="en", probability=0.95),)
    assert read_thresholds(path, "llama-4", "second-opinion-0") == ()


@pytest.mark.parametrize("line", ["{}", "no JSON", '{"model":"m","prompt":"p","group":"en","score":2,"is_right":true}'])
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    write(path, 1)
    with path.open("a") as file:
        file.write(line)
    with pytest.raises(SettingsError, match="line 2 of"):
        read_thresholds(path, "llama-4", PROMPT.version)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_thresholds(tmp_path / "none", "llama-4", PROMPT.version)


async def test_without_a_policy_for_it_no_opinion_is_asked() -> None:
    model = Opinionated(0.1)
    log = InMemory(MemoryLog(requested(), started()))
    before = GatePolicy(rules="gates-1")
    (fact,) = (
        await Judge(log, verdict(approved=True), sources=Pages(), policy=before, opinion=model).judge(claim(0, 1))
    ).facts
    assert isinstance(fact, ClaimApproved)
    assert (model.asked, fact.opinion) == ([], None)
