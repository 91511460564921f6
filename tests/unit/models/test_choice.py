"""Which model is asked: as the settings say, per step, with what is missing named before anything starts."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from pydantic import SecretStr

from contracts.v1.parts import ModelName
from kit.model_settings import ModelSettings, OpenAISettings
from kit.models.base import Finished, KeyAccepted, KeyRefused, Model, ModelError, ask
from kit.models.by_step import ModelsByStep
from kit.models.choice import REVIEW_STEP, choose
from kit.models.demo import DemoModel
from kit.models.failover import Failover
from kit.models.prices import LISTED, Charges, price_of
from kit.settings import Infrastructure, SettingsError, load
from tests.support.demo_runs import brief
from tests.support.fakes import Run, ScriptedModel, transient, verdict
from tests.support.providers import REVIEW

OPENAI = OpenAISettings(api_key=SecretStr("sk-instance"))
KEY = SecretStr("sk-reader-key-0123456789abc")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says is not what is tested."""
    for name in os.environ:
        if name.startswith(("OPENERRATA_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


def chosen(wanted: str = "auto", openai: OpenAISettings = OPENAI, **models: object) -> Model:
    infrastructure = Infrastructure.model_validate({"model": wanted})
    return choose(infrastructure, openai, embedded=False, models=ModelSettings.model_validate(models))


def test_all_steps_share_one_model_unless_told_otherwise() -> None:
    assert chosen().name == ModelName(provider="openai", model="gpt-5.4")
    assert chosen("openai_responses:gpt-5.4-mini").name.model == "gpt-5.4-mini"
    assert not isinstance(
        chosen(investigator_model="openai_responses", validator_model="openai_responses"), ModelsByStep
    )


@pytest.mark.requirement("3.1-02")
def test_each_step_can_have_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """3.1-02: Runs need a provider's key of the instance."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-instance")
    monkeypatch.setenv("OPENERRATA_CHAT_BASE_URL", "http://127.0.0.1:1/v1")
    model = chosen(investigator_model="anthropic:claude-opus-5-5", validator_model="chat_completions:local")
    assert isinstance(model, ModelsByStep)
    assert model.name == ModelName(provider="anthropic", model="claude-opus-5-5")
    assert not model.takes_readers_keys


def test_a_key_that_is_set_to_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY is not set"):
        chosen(openai=load(OpenAISettings))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    with pytest.raises(SettingsError, match="ANTHROPIC_API_KEY is not set"):
        chosen("anthropic")


def test_the_environment_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_VALIDATOR_MODEL", "openai_responses:gpt-5.5")
    monkeypatch.setenv("OPENERRATA_MODEL_FAILOVER", "openai_responses:gpt-5.4-mini")
    monkeypatch.setenv("OPENERRATA_MODEL_PRICES", '{"mine": {"input_usd": 0.5, "output_usd": "1.25"}}')
    model = choose(Infrastructure(), OPENAI, embedded=True)
    assert isinstance(model, ModelsByStep)
    assert model.takes_readers_keys
    assert {each.model.model for each in model.charges} == {"gpt-5.4", "gpt-5.5", "gpt-5.4-mini"}
    price = load(ModelSettings).prices()["mine"]
    assert (price.input, price.cached, price.cache_write, price.output, price.search) == (
        500_000,
        500_000,
        500_000,
        1_250_000,
        0,
    )


def test_a_failover_stands_behind_all_steps() -> None:
    assert isinstance(chosen(model_failover="openai_responses:gpt-5.5"), Failover)


@pytest.mark.parametrize(
    ("wanted", "environment", "models", "named"),
    [
        ("anthropic", {}, {}, "ANTHROPIC_API_KEY"),
        ("openai_responses", {}, {"model_failover": "anthropic"}, "ANTHROPIC_API_KEY"),
        ("chat_completions", {}, {}, "OPENERRATA_CHAT_BASE_URL"),
        ("chat_completions", {"OPENERRATA_CHAT_BASE_URL": "http://h/v1"}, {}, "OPENERRATA_CHAT_MODEL_ID"),
        (
            "chat_completions:m",
            {"OPENERRATA_CHAT_BASE_URL": "http://h/v1", "OPENERRATA_SEARCH_ENGINE": "brave"},
            {},
            "OPENERRATA_SEARCH_API_KEY",
        ),
        ("openai_responses", {}, {"validator_model": "demo"}, "demo"),
        ("demo", {}, {"model_failover": "openai_responses"}, "demo"),
        ("openai_responses", {}, {"model_failover": "demo"}, "demo"),
    ],
)
def test_what_is_missing_or_mixed_is_said_at_start(
    wanted: str, environment: dict[str, str], models: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=named):
        chosen(wanted, OPENAI, **models)


@pytest.mark.parametrize("wanted", ["gpt-5.4", "openai", "demo:x", "anthropic:", "openai_responses: x", ""])
def test_a_choice_that_is_none_is_refused(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_MODEL", wanted)
    monkeypatch.setenv("OPENERRATA_VALIDATOR_MODEL", wanted)
    with pytest.raises(SettingsError, match="OPENERRATA_MODEL: "):
        load(Infrastructure)
    with pytest.raises(SettingsError, match="OPENERRATA_VALIDATOR_MODEL: "):
        load(ModelSettings)


def test_own_prices_reach_the_provider() -> None:
    own = ModelSettings.model_validate({"model_prices": {"gpt-5.4": {"input_usd": 1, "output_usd": 2}}})
    assert price_of("gpt-5.4", own.prices()) != LISTED["gpt-5.4"]


class Keyed(ScriptedModel):
    """A scripted model that says whose keys it takes."""

    charges: tuple[Charges, ...] = ()

    def __init__(self, *, takes: bool, own: KeyRefused | None = None, runs: Sequence[Run] = ((),)) -> None:
        super().__init__(runs, (verdict(approved=False),))
        self.takes_readers_keys = takes
        self._own = own or KeyAccepted()

    async def probe_own(self) -> KeyAccepted | KeyRefused:
        return self._own


def both(looks: Keyed, reviews: Keyed) -> ModelsByStep:
    return ModelsByStep(looks, {REVIEW_STEP: reviews})


async def test_the_first_investigates_and_the_second_reviews() -> None:
    first, second = Keyed(takes=True), Keyed(takes=True)
    model = both(first, second)
    steps = [step async for step in model.converse(brief("A text."), KEY)]
    assert isinstance(steps[-1], Finished)
    assert not (await ask(model, REVIEW, KEY)).answer.approved
    assert (len(first.briefs), len(first.reviews), len(second.briefs), len(second.reviews)) == (1, 0, 0, 1)
    assert await model.probe(KEY) == KeyAccepted()


async def test_a_readers_key_is_taken_by_all_steps_or_by_none() -> None:
    first, second = Keyed(takes=True), Keyed(takes=False)
    model = both(first, second)
    with pytest.raises(ModelError) as raised:
        await anext(model.converse(brief("A text."), KEY))
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "KeyOfNoUse")
    with pytest.raises(ModelError):
        await ask(model, REVIEW, KEY)
    assert isinstance(await model.probe(KEY), KeyRefused)
    assert first.keys == second.keys == []


async def test_all_steps_must_answer_with_their_own_keys() -> None:
    refused = KeyRefused("invalid", "no")
    assert await both(Keyed(takes=True), Keyed(takes=True)).probe_own() == KeyAccepted()
    assert await both(Keyed(takes=True), Keyed(takes=True, own=refused)).probe_own() == refused
    assert await both(Keyed(takes=True, own=refused), Keyed(takes=True)).probe_own() == refused
    assert await DemoModel().probe_own() == KeyAccepted()


async def test_a_failure_without_a_record_is_not_known_to_have_cost_nothing() -> None:
    first = Keyed(takes=True, runs=((transient(),),))
    second = Keyed(takes=True)
    with pytest.raises(ModelError) as raised:
        await anext(Failover(first, second).converse(brief("A text.")))
    assert raised.value.status_code == 500
    assert second.briefs == []
