"""What clients read as provider and model: names of an enum, for whatever there is or will be."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.public.names import model_name, provider_name


@pytest.mark.parametrize(
    ("provider", "model", "named"),
    [
        ("openai", "gpt-5.4", ("OPENAI", "OPENAI_GPT_5")),
        ("OPENAI", "gpt-5-mini-2026-01-01", ("OPENAI", "OPENAI_GPT_5")),
        ("openai", "o3-pro", ("OPENAI", "OPENAI_O3")),
        ("anthropic", "claude-opus-4-1-20250805", ("ANTHROPIC", "ANTHROPIC_CLAUDE_OPUS_4")),
        ("chat_completions", "meta-llama/llama-3.3-70b", ("CHAT_COMPLETIONS", "CHAT_COMPLETIONS_META_LLAMA_LLAMA_3")),
        ("demo", "demo-catalogue", ("DEMO", "DEMO_CATALOGUE")),
        ("demo", "demo", ("DEMO", "DEMO")),
        ("", "", ("UNKNOWN", "UNKNOWN")),
    ],
)
def test_names(provider: str, model: str, named: tuple[str, str]) -> None:
    assert (provider_name(provider), model_name(provider, model)) == named


@given(st.text(), st.text())
def test_every_name_is_one_of_an_enum(provider: str, model: str) -> None:
    for name in (provider_name(provider), model_name(provider, model)):
        assert re.fullmatch(r"[A-Z0-9]+(?:_[A-Z0-9]+)*", name)
