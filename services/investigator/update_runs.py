"""Adds the findings of an earlier version to the input of an update run.

The diff is made once, so that later attempts and the audit have the one that the model was given.
"""

from __future__ import annotations

import asyncio
from typing import Final

from analyses.diff import diff
from contracts.v1.parts import InvestigationInput
from services.investigator.domain import Prior
from services.investigator.ports import Blobs

THREAD_FROM: Final = 20_000
"""Units: characters of both texts. Longer ones are compared in a thread, so that they do not block the event loop."""


async def add_prior(input_: InvestigationInput, prior: Prior | None, texts: Blobs) -> InvestigationInput:
    """The input of an update run; unchanged if there is no prior."""
    if prior is None:
        return input_
    now = await texts.get_text(input_.content)
    if len(prior.text) + len(now) > THREAD_FROM:
        changes = await asyncio.to_thread(diff, prior.text, now)
    else:
        changes = diff(prior.text, now)
    return input_.model_copy(
        update={
            "parent_investigation_id": prior.investigation_id,
            "content_diff": await texts.put_text(changes),
            "old_claims": prior.claims,
        }
    )
