"""What an earlier version of the same post was found to say, frozen into the input of an update run.

The diff is made here and once: a later attempt, and whoever reads the audit, sees the one the model was given.
"""

from __future__ import annotations

import asyncio
from typing import Final

from analyses.diff import diff
from contracts.v1.parts import InvestigationInput
from services.investigator.domain import Prior
from services.investigator.ports import Blobs

THREAD_FROM: Final = 20_000
"""Units: characters of both texts. Longer ones take long enough for others to notice."""


async def with_earlier(taken: InvestigationInput, prior: Prior | None, texts: Blobs) -> InvestigationInput:
    """The input as one of an update run, or as it is where nothing was found before."""
    if prior is None:
        return taken
    now = await texts.get_text(taken.content)
    if len(prior.text) + len(now) > THREAD_FROM:
        changes = await asyncio.to_thread(diff, prior.text, now)
    else:
        changes = diff(prior.text, now)
    return taken.model_copy(
        update={
            "parent_investigation_id": prior.investigation_id,
            "content_diff": await texts.put_text(changes),
            "old_claims": prior.claims,
        }
    )
