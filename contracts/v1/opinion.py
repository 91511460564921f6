"""The second opinion on a claim, as facts record it."""

from __future__ import annotations

from pydantic import Field

from contracts.v1.parts import ModelName, Prompt, TextRef, Usage, Value


class Opinion(Value):
    """A second model's opinion on a claim, of which it saw only the sentence and the quotations.

    Units: `probability` that the quotations show the sentence to be wrong, 0 to 1; None: the answer could not be read.
    """

    model: ModelName
    prompt: Prompt
    probability: float | None = Field(default=None, ge=0, le=1)
    usage: Usage = Usage()
    transcript: TextRef | None = None
