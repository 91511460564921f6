"""The models of an audit by stage: choose the provider and model of each stage, and open them.

An operator's stored choice overrides the environment. An unknown provider's name falls back to the primary provider, so
that a typing error leaves no stage without a model; the route that stores names refuses unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, get_args

from contracts.steps import StepName
from contracts.transcript import Price
from contracts.v1.run import StageModel
from kit.model_settings import AnthropicSettings, ChatSettings, GoogleSettings, LlmSettings, OpenAISettings
from kit.models.base import Model
from kit.models.choice import make_anthropic, make_chat, make_openai
from kit.models.failover import Failover, KeyedModel
from kit.models.provider import ProviderDeps
from kit.settings import SettingsError, load

Stage = Literal[1, 2, 3]
ProviderName = Literal["anthropic", "openai", "google", "local"]
PROVIDERS: Final[tuple[ProviderName, ...]] = get_args(ProviderName)
STEPS: Final[Mapping[Stage, StepName]] = {
    1: "CLAIM_AUDIT/extract",
    2: "CLAIM_AUDIT/analyse",
    3: "CLAIM_AUDIT/assess",
}
FREE: Final = Price(input=0, cached=0, cache_write=0, output=0, search=0)
"""The price of a local server, unless the settings name one."""
UNNAMED: Final = "default"
"""The model's name for a local server whose settings name none."""
_MODELS: Final[Mapping[Literal["anthropic", "openai", "google"], Mapping[Stage, str]]] = {
    "anthropic": {1: "claude-haiku-4-5", 2: "claude-sonnet-5-5", 3: "claude-sonnet-5-5"},
    "openai": {1: "gpt-5.4-mini", 2: "gpt-5.4", 3: "gpt-5.4"},
    "google": {1: "gemini-flash-latest", 2: "gemini-pro-latest", 3: "gemini-pro-latest"},
}
_MAX_TOKENS: Final[Mapping[Stage, int]] = {1: 4_096, 2: 16_384, 3: 8_192}
_TEMPERATURE: Final[Mapping[Stage, float]] = {1: 0.0, 2: 0.3, 3: 0.2}


@dataclass(frozen=True, slots=True)
class StoredStage:
    """An operator's stored choice for a stage; the provider's name is unchecked."""

    provider: str
    model: str
    max_tokens: int
    temperature: float


def find_provider(name: str | None) -> ProviderName | None:
    """The provider of this name, None if there is none."""
    return next((each for each in PROVIDERS if each == name), None)


def resolve(stage: Stage, settings: LlmSettings, stored: StoredStage | None, local_model: str = "") -> StageModel:
    """The model of a stage: the stored one, else that of the environment, else the primary provider's default.

    `local_model` is the default model of a local server.
    """
    name, model = (stored.provider, stored.model) if stored else settings.of_stage(stage)
    provider = find_provider(settings.primary_provider if name is None else name)
    if provider is None:  # the model belongs to a provider that does not exist
        provider, model = settings.primary_provider, None
    usual = local_model or UNNAMED if provider == "local" else _MODELS[provider][stage]
    return StageModel(
        step=STEPS[stage],
        provider=provider,
        model=model or usual,
        max_tokens=stored.max_tokens if stored else _MAX_TOKENS[stage],
        temperature=stored.temperature if stored else _TEMPERATURE[stage],
    )


class Stages(Protocol):
    """Chooses and opens the models of stages."""

    def resolve(self, stage: Stage, stored: StoredStage | None) -> StageModel:
        """The model that a stage uses now."""

    def open(self, chosen: StageModel) -> Model:
        """Open the model of a stage. Raises: SettingsError: no provider for it is usable."""


class StageModels:
    """Opens the models of stages, each once. The fallback provider answers if the first fails at no cost."""

    def __init__(self, settings: LlmSettings, deps: ProviderDeps) -> None:
        self._settings = settings
        own = replace(deps, price=lambda model: deps.price(model) or FREE)
        self._opened: dict[tuple[ProviderName, str], KeyedModel] = {}
        self._make: Final[Mapping[ProviderName, Callable[[str], KeyedModel]]] = {
            "anthropic": lambda model: make_anthropic(load(AnthropicSettings), model, deps),
            "openai": lambda model: make_openai(load(OpenAISettings), model, deps),
            "google": lambda model: make_chat(_as_chat(load(GoogleSettings), model), model, deps, provider="google"),
            "local": lambda model: make_chat(load(ChatSettings), model, own, provider="local"),
        }

    def resolve(self, stage: Stage, stored: StoredStage | None) -> StageModel:
        return resolve(stage, self._settings, stored, load(ChatSettings).model_id)

    def open(self, chosen: StageModel) -> KeyedModel:
        """Open the model of a stage. Raises: SettingsError: neither its provider nor the fallback has its settings."""
        stage = next(stage for stage, step in STEPS.items() if step == chosen.step)
        provider = find_provider(chosen.provider) or self._settings.primary_provider
        spare = self._spare(stage, provider)
        try:
            first = self._open(provider, chosen.model)
        except SettingsError:
            if spare is None:
                raise
            return spare
        return first if spare is None else Failover(first, spare)

    def _spare(self, stage: Stage, but: ProviderName) -> KeyedModel | None:
        fallback = self._settings.fallback_provider
        if fallback is None or fallback == but:
            return None
        try:
            return self._open(fallback, _usual(fallback, stage))
        except SettingsError:
            return None

    def _open(self, provider: ProviderName, model: str) -> KeyedModel:
        found = self._opened.get((provider, model))
        if found is None:
            found = self._opened[provider, model] = self._make[provider](model)
        return found


class DemoStages:
    """The demonstration model for every stage."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def resolve(self, stage: Stage, stored: StoredStage | None) -> StageModel:
        """The demonstration model; the operator's stored choice is ignored."""
        name = self._model.name
        return StageModel(step=STEPS[stage], provider=name.provider, model=name.model, max_tokens=_MAX_TOKENS[stage])

    def open(self, chosen: StageModel) -> Model:
        """The demonstration model."""
        return self._model


def _usual(provider: ProviderName, stage: Stage) -> str:
    """A provider's default model for a stage; empty for a local server, whose own settings name it."""
    return "" if provider == "local" else _MODELS[provider][stage]


def _as_chat(settings: GoogleSettings, model: str) -> ChatSettings:
    if settings.api_key is None:
        raise SettingsError("GOOGLE_API_KEY is not set, but the provider google is chosen")
    return ChatSettings.model_validate(
        {"base_url": settings.base_url, "api_key": settings.api_key, "model_id": model, "effort": None}
    )
