"""Which model answers, decided once at start: never a demo in earnest, never a silent fallback."""

from __future__ import annotations

from kit.models.base import Model
from kit.settings import Infrastructure, OpenAISettings, SettingsError


def choose(infrastructure: Infrastructure, openai: OpenAISettings, *, embedded: bool) -> Model:
    """The model the settings ask for; without a key the demo, but only where everything else is embedded too.

    Raises: SettingsError: a key is missing.
    """
    wanted = infrastructure.model
    if wanted == "auto":
        wanted = "openai_responses" if openai.api_key or not embedded else "demo"
    if wanted == "demo":
        from kit.models.demo import DemoModel

        return DemoModel(pace_s=infrastructure.demo_pace_s)
    if openai.api_key is None:
        raise SettingsError(
            "OPENAI_API_KEY is not set: set it, or set OPENERRATA_MODEL=demo to run the offline demo catalogue"
        )
    from kit.models.openai_responses import OpenAIResponses  # takes a second to import, so only when it is used

    return OpenAIResponses(
        key=openai.api_key,
        model=openai.model_id,
        base_url=openai.base_url or "https://api.openai.com/v1",
        max_rounds=openai.max_response_tool_rounds,
    )
