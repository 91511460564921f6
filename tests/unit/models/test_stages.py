"""Which model each stage of an audit asks, and what happens where its provider cannot be asked."""

from __future__ import annotations

import os
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.run import StageModel
from kit.model_settings import LlmSettings
from kit.models.failover import Failover
from kit.models.prices import price_of
from kit.models.provider import ProviderDeps
from kit.models.stages import PROVIDERS, Stage, StageModels, StoredStage, resolve
from kit.settings import SettingsError, load

STAGES: tuple[Stage, ...] = (1, 2, 3)
DEPS = ProviderDeps(price=partial(price_of, own={}))


def asked(step: str, provider: str, model: str, max_tokens: int, temperature: float) -> StageModel:
    return StageModel(
        step=f"CLAIM_AUDIT/{step}", provider=provider, model=model, max_tokens=max_tokens, temperature=temperature
    )


KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "google": "GOOGLE_API_KEY"}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says is not what is tested."""
    for name in os.environ:
        if name.startswith(("OPENERRATA_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "LLM_")):
            monkeypatch.delenv(name)


def test_without_settings_the_stages_have_their_usual_models_and_limits() -> None:
    settings = LlmSettings()
    assert [resolve(stage, settings, None) for stage in STAGES] == [
        asked("extract", "anthropic", "claude-haiku-4-5", 4_096, 0.0),
        asked("analyse", "anthropic", "claude-sonnet-5-5", 16_384, 0.3),
        asked("assess", "anthropic", "claude-sonnet-5-5", 8_192, 0.2),
    ]


@pytest.mark.requirement("FH-102")
def test_the_environment_names_providers_and_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-102: Providers and models are chosen by stage from the environment."""
    monkeypatch.setenv("LLM_PRIMARY_PROVIDER", "openai")
    monkeypatch.setenv("LLM_STAGE2_PROVIDER", "google")
    monkeypatch.setenv("LLM_STAGE2_MODEL", "gemini-x")
    monkeypatch.setenv("LLM_STAGE3_MODEL", "gpt-5.5")
    found = [resolve(stage, load(LlmSettings), None) for stage in STAGES]
    assert [(each.provider, each.model) for each in found] == [
        ("openai", "gpt-5.4-mini"),
        ("google", "gemini-x"),
        ("openai", "gpt-5.5"),
    ]


@pytest.mark.requirement("FH-103")
def test_what_is_stored_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-103: Stored configuration beats the environment, and no key is stored."""
    monkeypatch.setenv("LLM_STAGE1_PROVIDER", "google")
    stored = StoredStage("openai", "gpt-5.5", 100, 1.5)
    assert resolve(1, load(LlmSettings), stored) == asked("extract", "openai", "gpt-5.5", 100, 1.5)


@pytest.mark.requirement("FH-107")
@given(name=st.text().filter(lambda name: name not in PROVIDERS), stage=st.sampled_from(STAGES))
def test_an_unknown_provider_falls_back_to_the_primary_with_a_model_of_its_own(name: str, stage: Stage) -> None:
    """FH-107: An unknown provider falls back, or is 400 where it is configured."""
    usual = resolve(stage, LlmSettings(), None)
    stored = resolve(stage, LlmSettings(), StoredStage(name, "of-another", 7, 0.5))
    assert (stored.provider, stored.model) == (usual.provider, usual.model)
    settings = LlmSettings.model_validate({f"stage{stage}_provider": name, f"stage{stage}_model": "of-another"})
    assert resolve(stage, settings, None) == usual


@pytest.mark.requirement("FH-101")
@pytest.mark.parametrize("provider", KEYS)
def test_a_provider_can_be_asked_with_its_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-101: Anthropic, OpenAI, Google and local servers can be chosen."""
    monkeypatch.setenv("LLM_PRIMARY_PROVIDER", provider)
    models = StageModels(load(LlmSettings), DEPS)
    with pytest.raises(SettingsError, match=KEYS[provider]):
        models.open(models.resolve(1, None))
    monkeypatch.setenv(KEYS[provider], "sk-instance-key-0123456789abcdef")
    assert models.open(models.resolve(1, None)).name.provider == provider


def test_a_local_server_is_asked_at_its_address_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_CHAT_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENERRATA_CHAT_MODEL_ID", "small")
    monkeypatch.setenv("LLM_PRIMARY_PROVIDER", "local")
    settings = load(LlmSettings)
    models = StageModels(settings, DEPS)
    assert models.resolve(2, None).model == "small"
    opened = models.open(models.resolve(2, None))
    assert (opened.name.provider, opened.name.model) == ("local", "small")


@pytest.mark.requirement("FH-104")
def test_models_are_opened_once_and_the_fallback_stands_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-104: What cost nothing fails over once; what may have been billed does not."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-instance-key-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-instance-key-0123456789abcdef")
    alone = StageModels(LlmSettings(), DEPS)
    second = resolve(2, LlmSettings(), None)
    assert alone.open(second) is alone.open(resolve(3, LlmSettings(), None))
    both = StageModels(LlmSettings(fallback_provider="openai"), DEPS).open(second)
    assert isinstance(both, Failover)
    assert both.name.provider == "anthropic"


@pytest.mark.parametrize("primary", ["anthropic", "google"])
def test_without_the_first_ones_key_the_fallback_answers_alone(primary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LlmSettings.model_validate({"primary_provider": primary, "fallback_provider": "openai"})
    first = resolve(1, settings, None)
    monkeypatch.setenv(KEYS[primary], "")
    with pytest.raises(SettingsError, match=KEYS[primary]):
        StageModels(settings, DEPS).open(first)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-instance-key-0123456789abcdef")
    assert StageModels(settings, DEPS).open(first).name.model == "gpt-5.4-mini"


@pytest.mark.parametrize("wrong", [{"LLM_PRIMARY_PROVIDER": "another"}, {"LLM_MAX_COST_PER_REQUEST": "0"}])
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        load(LlmSettings)
