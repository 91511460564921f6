"""Instructions to models, kept once."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from contracts.v1.parts import Prompt as GivenPrompt
from services.projector.projections.rules import rows_by
from services.projector.rows.claims import PROMPT_NAMES, PROMPTS, Prompt, PromptName
from services.projector.rows.table import Tables

_HASH: Final = PROMPT_NAMES.by()
_VERSION: Final = PROMPT_NAMES.by("version")

keys: Final = rows_by((_HASH, "sha256"), (_VERSION, "version"))


def add(tables: Tables, prompt: GivenPrompt, at: datetime) -> None:
    """Keep a prompt; the same version with another text gets a name of its own.

    Two deployments that disagree about a version must not stop each other.
    """
    names = tables[PROMPT_NAMES]
    if names.get(prompt.sha256) is not None:
        return
    is_taken = any(name.version == prompt.version for name in names.current)
    version = f"{prompt.version}+{prompt.sha256[:12]}" if is_taken else prompt.version
    names.put(PromptName(prompt.sha256, version))
    tables[PROMPTS].put(Prompt(prompt.sha256, version, prompt.text, at))
