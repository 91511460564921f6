"""Providers and models as clients of the public record know them: names of an enum, coarser than a model's own id.

`gpt-5.4` of `openai` is `OPENAI_GPT_5`, and stays so for whoever groups by it; the audit has the id that was asked.
"""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[^A-Z0-9]+")


def provider_name(provider: str) -> str:
    """A provider's name."""
    return _SIGNS.sub("_", provider.upper()).strip("_") or "UNKNOWN"


def model_name(provider: str, model: str) -> str:
    """A model's family: its name as far as its first number, after its provider's."""
    maker, words = provider_name(provider), _SIGNS.sub("_", model.upper()).strip("_").split("_")
    numbered = next((n for n, word in enumerate(words) if any(sign.isdigit() for sign in word)), len(words) - 1)
    family = "_".join(words[: numbered + 1])
    return family if family == maker or family.startswith(f"{maker}_") else f"{maker}_{family}".rstrip("_")
