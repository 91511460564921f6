"""Answers that were stored and not published: a model is not called again for them."""

from __future__ import annotations

from contracts.transcript import Transcript, unpublished_tail
from services.validator.ports import Blobs


async def find_unpublished(blobs: Blobs, step: str) -> Transcript | None:
    """The answer to a step that a worker stored without publishing it before it died."""
    for ref in await blobs.answers(step):
        try:
            found = unpublished_tail(None, await blobs.get_text(ref))
        except (LookupError, ValueError):
            continue
        if found is not None:
            return found[0]
    return None
