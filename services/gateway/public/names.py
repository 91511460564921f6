"""Names of providers and models for clients of the public record, as enum values without minor versions.

`gpt-5.4` of `openai` is `OPENAI_GPT_5`; the audit has the requested id.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

NOBODY: Final = UUID(int=0)
"""No author has this id."""

_SIGNS = re.compile(r"[^A-Z0-9]+")


def provider_name(provider: str) -> str:
    """A provider's name."""
    return _SIGNS.sub("_", provider.upper()).strip("_") or "UNKNOWN"


def model_name(provider: str, model: str) -> str:
    """A model's family: the provider's name, then the model's up to its first number."""
    maker, words = provider_name(provider), _SIGNS.sub("_", model.upper()).strip("_").split("_")
    numbered = next((n for n, word in enumerate(words) if any(sign.isdigit() for sign in word)), len(words) - 1)
    family = "_".join(words[: numbered + 1])
    return family if family == maker or family.startswith(f"{maker}_") else f"{maker}_{family}".rstrip("_")
