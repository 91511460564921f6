"""The second opinion on a claim, as a fact states it."""

from __future__ import annotations

from pydantic import Field

from contracts.v1.parts import ModelName, Prompt, TextRef, Usage, Value


class Opinion(Value):
    """What a second model said of a claim, of which it saw the sentence and the quotations only.

    Units: `probability` that the quotations show the sentence to be wrong, 0 to 1; None: its answer could not be read.
    """

    model: ModelName
    prompt: Prompt
    probability: float | None = Field(default=None, ge=0, le=1)
    usage: Usage = Usage()
    transcript: TextRef | None = None
