"""A step is one paid conversation with a model, of a kind of analysis: its name and how long it may go on.

Names travel in facts and transcripts, so none is ever given to another step.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import StringConstraints

StepName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z_]*/[a-z][a-z_]*$")]
"""`<KIND>/<step>`, e.g. `FACT_CHECK/review`."""


class Turns(NamedTuple):
    """How often a model is asked, and what is said if no readable answer has come by then.

    With words for `closing` it is then asked once more, without tools and for the schema; the words are part of the
    prompt's bundle.
    """

    with_tools: int
    closing: str | None = None
