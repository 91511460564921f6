"""A step is one paid conversation with a model within a kind of analysis: its name and how long it may take.

Names are stored in events and transcripts, so none is ever reused for another step.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import StringConstraints

StepName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z_]*/[a-z][a-z_]*$")]
"""`<KIND>/<step>`, e.g. `FACT_CHECK/review`."""


class Turns(NamedTuple):
    """The most requests with tools that a step may send, and the last message if there is no valid answer by then.

    With a `closing` text the model is asked once more, without tools and for the schema; the text is part of the
    prompt's bundle.
    """

    with_tools: int
    closing: str | None = None
