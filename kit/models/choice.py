"""Choose the models at start: never the demo in production, never a silent fallback.

A choice is written `provider` or `provider:model`. Only the settings of providers that are chosen are read.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kit.model_settings import AnthropicSettings, ChatSettings, ModelSettings, OpenAISettings, SearchSettings
from kit.models.by_step import ModelsByStep
from kit.models.failover import Failover, KeyedModel
from kit.models.prices import price_of
from kit.models.provider import ProviderDeps
from kit.models.timeouts import Timeouts
from kit.models.websearch.engines import Brave, DuckDuckGo, Tavily
from kit.models.websearch.tool import Engine, WebSearch
from kit.settings import Infrastructure, SettingsError, load
from kit.web import CONTACT_URL, GuardedHttpClient, Policy

REVIEW_STEP: Final = "FACT_CHECK/review"


def choose(
    infrastructure: Infrastructure,
    openai: OpenAISettings,
    *,
    embedded: bool,
    models: ModelSettings | None = None,
    keys_needed: bool = True,
) -> KeyedModel:
    """The model that the settings choose; without a key the demo, but only if the servers are embedded too.

    A process without `keys_needed` makes no calls at the instance's expense, and may lack the key.

    Raises: SettingsError: a key is missing, or the demo is chosen for one step only.
    """
    models = models or load(ModelSettings)
    both = infrastructure.model
    if both == "auto":
        both = "openai_responses" if openai.api_key or not embedded else "demo"
    wanted = (models.investigator_model or both, models.validator_model or both)
    if "demo" in (*wanted, models.model_failover) and (*wanted, models.model_failover) != ("demo", "demo", None):
        raise SettingsError("the demo catalogue stands in for all steps and for no other model, or not at all")
    deps = make_deps(models)
    build = partial(_build_model, infrastructure=infrastructure, openai=openai, deps=deps, keys_needed=keys_needed)
    first = build(wanted[0])
    second = first if wanted[0] == wanted[1] else build(wanted[1])
    if models.model_failover:
        spare = build(models.model_failover)
        first, second = Failover(first, spare), Failover(second, spare)
    return first if wanted[0] == wanted[1] else ModelsByStep(first, {REVIEW_STEP: second})


def make_deps(models: ModelSettings) -> ProviderDeps:
    """The prices and time limits of the settings."""
    timeouts = Timeouts(models.model_silence_s, models.model_call_s, models.model_run_s)
    return ProviderDeps(price=partial(price_of, own=models.prices()), timeouts=timeouts)


def choose_opinion(choice: str, openai: OpenAISettings, chat: ChatSettings) -> KeyedModel:
    """The model of second opinions; `chat` names the server, for a model behind chat completions.

    Raises: SettingsError: a key or an address is missing, or the demo is chosen.
    """
    deps = make_deps(load(ModelSettings))
    provider, _, model = choice.partition(":")
    match provider:
        case "openai_responses":
            return make_openai(openai, model, deps)
        case "anthropic":
            return make_anthropic(load(AnthropicSettings), model, deps)
        case "chat_completions":
            return make_chat(chat, model, deps, keys_needed=False)
        case _:
            raise SettingsError(f"OPENERRATA_VALIDATOR_OPINION_MODEL: {provider} has no opinion of its own")


def _build_model(
    choice: str, *, infrastructure: Infrastructure, openai: OpenAISettings, deps: ProviderDeps, keys_needed: bool
) -> KeyedModel:
    provider, _, model = choice.partition(":")
    match provider:  # each client library takes a second to import, so only the one in use is imported
        case "demo":
            from kit.models.demo import DemoModel

            return DemoModel(pace_s=infrastructure.demo_pace_s)
        case "openai_responses":
            return make_openai(openai, model, deps, keys_needed)
        case "anthropic":
            return make_anthropic(load(AnthropicSettings), model, deps, keys_needed)
        case _:
            return make_chat(load(ChatSettings), model, deps, keys_needed)


def make_openai(settings: OpenAISettings, model: str, deps: ProviderDeps, keys_needed: bool = True) -> KeyedModel:
    """An OpenAI model, or one of a server with OpenAI's protocol. Raises: SettingsError: the key is missing."""
    if settings.api_key is None and keys_needed:
        raise SettingsError(
            "OPENAI_API_KEY is not set: set it, or set OPENERRATA_MODEL=demo to run the offline demo catalogue"
        )
    from kit.models.openai_responses import OpenAIResponses

    return OpenAIResponses(
        key=settings.api_key,
        model=model or settings.model_id,
        base_url=settings.base_url or "https://api.openai.com/v1",
        max_rounds=settings.max_response_tool_rounds,
        deps=deps,
    )


def make_anthropic(settings: AnthropicSettings, model: str, deps: ProviderDeps, keys_needed: bool = True) -> KeyedModel:
    """An Anthropic model. Raises: SettingsError: the key is missing."""
    if settings.api_key is None and keys_needed:
        raise SettingsError("ANTHROPIC_API_KEY is not set, but the provider anthropic is chosen")
    from kit.models.anthropic import AnthropicMessages

    return AnthropicMessages(
        key=settings.api_key,
        model=model or settings.model_id,
        base_url=settings.base_url or "https://api.anthropic.com",
        max_tokens=settings.max_tokens,
        deps=deps,
    )


def make_chat(
    settings: ChatSettings, model: str, deps: ProviderDeps, keys_needed: bool = True, provider: str = "chat_completions"
) -> KeyedModel:
    """A model behind chat completions, with our web search. Raises: SettingsError: a setting is missing."""
    if settings.base_url is None or not (model or settings.model_id):
        raise SettingsError(
            "the provider chat_completions is chosen: set OPENERRATA_CHAT_BASE_URL and OPENERRATA_CHAT_MODEL_ID"
        )
    from kit.models.chat_completions import ChatCompletions

    return ChatCompletions(
        key=settings.api_key,
        model=model or settings.model_id,
        base_url=settings.base_url,
        search=_search(load(SearchSettings)) if keys_needed else WebSearch(DuckDuckGo(_http())),
        effort=settings.effort,
        sees_pictures=settings.sees_pictures,
        provider=provider,
        deps=deps,
    )


def _search(settings: SearchSettings) -> WebSearch:
    http = _http()
    engine: Engine = DuckDuckGo(http)
    if settings.engine != "duckduckgo":
        if settings.api_key is None:
            raise SettingsError(f"OPENERRATA_SEARCH_API_KEY is not set, but {settings.engine} needs one")
        engine = (Brave if settings.engine == "brave" else Tavily)(http, settings.api_key)
    return WebSearch(engine)


def _http() -> GuardedHttpClient:
    return GuardedHttpClient(Policy(contact_url=CONTACT_URL))
