"""Two models as one: the first looks, the second doubts. Who checks a claim need not be who made it.

A reader's key pays for a whole run, so it is taken only where both stages can use it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import SecretStr

from kit.models.base import (
    Finished,
    InvestigationBrief,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    ModelError,
    Outcome,
    ReviewBrief,
    Verdict,
)
from kit.models.failover import Keyed

NO_KEYS = "This instance does not ask OpenAI alone, so a reader's key is of no use here."


class Staged:
    """Model that asks one model in stage 1 and another in stage 2; it is named for the first."""

    def __init__(self, investigator: Keyed, validator: Keyed) -> None:
        self._investigator = investigator
        self._validator = validator
        self.name = investigator.name
        self.labelled_demo = investigator.labelled_demo or validator.labelled_demo
        self.sees_pictures = investigator.sees_pictures
        self.takes_readers_keys = investigator.takes_readers_keys and validator.takes_readers_keys

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Outcome | Finished, None]:
        """Run stage 1. Shapes: as Model.investigate. Raises: ModelError."""
        self._refuse(key)
        async with aclosing(self._investigator.investigate(brief, key)) as steps:
            async for step in steps:
                yield step

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Ask stage 2 about one claim. Raises: ModelError."""
        self._refuse(key)
        return await self._validator.review(brief, key)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a reader's key with both stages."""
        if not self.takes_readers_keys:
            return KeyRefused("error", NO_KEYS)
        found = await self._investigator.probe(key)
        return await self._validator.probe(key) if isinstance(found, KeyAccepted) else found

    async def probe_own(self) -> KeyStatus:
        """Try the instance's own keys."""
        found = await self._investigator.probe_own()
        return await self._validator.probe_own() if isinstance(found, KeyAccepted) else found

    def _refuse(self, key: SecretStr | None) -> None:
        if key is not None and not self.takes_readers_keys:
            raise ModelError("NON_RETRYABLE", NO_KEYS, name="KeyOfNoUse")
