"""A wrong environment is refused at start, with every wrong variable named and no value shown."""

from __future__ import annotations

import pytest

from kit.model_settings import OpenAISettings
from kit.models.choice import choose
from kit.settings import Infrastructure, SettingsError, load
from services.selector.settings import SelectorSettings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says is not what is tested."""
    for name in ("OPENERRATA_MODEL", "OPENERRATA_NATS_REPLICAS", "OPENERRATA_LOG_LEVEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_defaults_need_nothing() -> None:
    infrastructure = load(Infrastructure)
    assert infrastructure.nats_url is infrastructure.database_url is infrastructure.s3_endpoint is None
    assert infrastructure.model == "auto"


def test_the_environment_is_read_when_asked_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_NATS_URL", "nats://broker.example:4222")
    monkeypatch.setenv("OPENERRATA_SELECTOR_RUNS_PER_DAY", "7")
    assert load(Infrastructure).nats_url == "nats://broker.example:4222"
    assert load(SelectorSettings).runs_per_day == 7


@pytest.mark.requirement("2.13-10")
def test_every_wrong_variable_is_named_and_no_value_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """2.13-10: Plaintext keys never in logs."""
    monkeypatch.setenv("OPENERRATA_NATS_REPLICAS", "secret-nonsense")
    monkeypatch.setenv("OPENERRATA_LOG_LEVEL", "loud")
    with pytest.raises(SettingsError) as caught:
        load(Infrastructure)
    message = str(caught.value)
    assert "OPENERRATA_NATS_REPLICAS: " in message
    assert "OPENERRATA_LOG_LEVEL: " in message
    assert "secret-nonsense" not in message
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("name", "value"), [("RUNS_PER_DAY", "-1"), ("INTERVAL_S", "0"), ("BATCH", "many")])
def test_a_services_settings_have_limits(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"OPENERRATA_SELECTOR_{name}", value)
    with pytest.raises(SettingsError, match=f"OPENERRATA_SELECTOR_{name}"):
        load(SelectorSettings)


@pytest.mark.requirement("2.2-06")
def test_secrets_do_not_show_in_settings() -> None:
    """2.2-06: User key never stored in plaintext server-side."""
    infrastructure = Infrastructure.model_validate({"s3_secret_key": "hush-1", "encryption_keys": "hush-2"})
    openai = OpenAISettings.model_validate({"api_key": "hush-3"})
    assert "hush" not in f"{infrastructure!r} {infrastructure} {openai!r} {openai}"


def test_the_demo_answers_only_where_everything_is_embedded() -> None:
    assert choose(Infrastructure(), OpenAISettings(), embedded=True).labelled_demo
    assert choose(Infrastructure(model="demo"), OpenAISettings(), embedded=False).labelled_demo


@pytest.mark.requirement("3.1-02")
@pytest.mark.parametrize(
    ("model", "embedded"), [("auto", False), ("openai_responses", False), ("openai_responses", True)]
)
def test_without_a_key_there_is_no_silent_fallback(model: str, embedded: bool) -> None:
    """3.1-02: Runs need a provider's key of the instance."""
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        choose(Infrastructure.model_validate({"model": model}), OpenAISettings(), embedded=embedded)
