"""Several models as one, each for its own steps, so that a claim can be reviewed by another model than its author.

A reader's key pays for a whole run, so it is accepted only if every step can use it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from pydantic import SecretStr

from contracts.steps import StepName
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    ModelError,
)
from kit.models.failover import KeyedModel
from kit.models.prices import Charges

NO_KEYS = "This instance does not ask OpenAI alone, so a reader's key is of no use here."


class ModelsByStep:
    """A model that uses others in some steps; its name is that of the model of all other steps."""

    def __init__(self, usual: KeyedModel, others: Mapping[StepName, KeyedModel]) -> None:
        self._usual = usual
        self._others = others
        self._all = tuple({id(each): each for each in (usual, *others.values())}.values())
        self.name = usual.name
        self.labelled_demo = any(each.labelled_demo for each in self._all)
        self.sees_pictures = usual.sees_pictures
        self.takes_readers_keys = all(each.takes_readers_keys for each in self._all)

    @property
    def charges(self) -> tuple[Charges, ...]:
        return tuple(charges for each in self._all for charges in each.charges)

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        if key is not None and not self.takes_readers_keys:
            raise ModelError("NON_RETRYABLE", NO_KEYS, name="KeyOfNoUse")
        async with aclosing(self._others.get(brief.step, self._usual).converse(brief, key)) as items:
            async for item in items:
                yield item

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a reader's key with each model."""
        if not self.takes_readers_keys:
            return KeyRefused("error", NO_KEYS)
        for each in self._all:
            found = await each.probe(key)
            if not isinstance(found, KeyAccepted):
                return found
        return KeyAccepted()

    async def probe_own(self) -> KeyStatus:
        """Try the instance's own keys."""
        for each in self._all:
            found = await each.probe_own()
            if not isinstance(found, KeyAccepted):
                return found
        return KeyAccepted()
