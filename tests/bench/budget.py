"""A sum of money that a run over many posts must not exceed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from pydantic import SecretStr

from contracts.v1.parts import Usage
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyRefused,
    KeyStatus,
    Model,
    ModelError,
)

SHARES: Final = 8
"""How many conversations may be held at once: each reserves that part of the sum before it begins."""

ANSWER_TOKENS: Final = 16_000
"""How long one answer may be where its step sets no limit: without any, no request's cost could be estimated."""


class BudgetedModel:
    """A model that begins no conversation that the rest of the sum might not pay for. Units: millionths of a dollar.

    A conversation gets a share: it ends once half is spent, and each of its requests may cost the other half by an
    estimate made before it is sent. What it did not spend is released. A cost that is not known counts as the share.
    """

    def __init__(self, model: Model, limit_micro_usd: int) -> None:
        """Raises: ValueError: a limit that is no amount of money."""
        if limit_micro_usd < SHARES:
            raise ValueError(f"a limit of money is at least {SHARES} millionths of a dollar")
        self._model = model
        self._share = limit_micro_usd // SHARES
        self._left = limit_micro_usd
        self._reserved = 0
        self._changed = asyncio.Condition()
        self.name = model.name
        self.labelled_demo = model.labelled_demo
        self.sees_pictures = model.sees_pictures

    @property
    def left_micro_usd(self) -> int:
        """What is neither spent nor reserved."""
        return self._left - self._reserved

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """As the model does. Raises: ModelError, also where the rest of the sum is smaller than a share."""
        await self._reserve()
        spent = self._share
        try:
            async with aclosing(self._model.converse(self._capped(brief), key)) as items:
                async for item in items:
                    if isinstance(item, Finished):
                        spent = self._cost(item.usage)
                    yield item
        except ModelError as error:
            spent = self._cost(error.usage)
            raise
        finally:
            await self._release(spent)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Refuse: no reader's key pays for a bench."""
        return KeyRefused("error", "A bench takes no keys of readers.")

    async def _reserve(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.left_micro_usd >= self._share or not self._reserved)
            if self.left_micro_usd < self._share:
                raise ModelError("NON_RETRYABLE", "The money limit of this bench is reached.", name="MoneyLimit")
            self._reserved += self._share

    async def _release(self, spent: int) -> None:
        async with self._changed:
            self._reserved -= self._share
            self._left -= spent
            self._changed.notify_all()

    def _cost(self, usage: Usage | None) -> int:
        cost = usage.cost_micro_usd if usage is not None else None
        return self._share if cost is None else cost

    def _capped(self, brief: Brief[DecisionT, AnswerT]) -> Brief[DecisionT, AnswerT]:
        half = self._share // 2
        limits = replace(
            brief.limits,
            cost_micro_usd=_smaller(brief.limits.cost_micro_usd, half),
            call_micro_usd=_smaller(brief.limits.call_micro_usd, half),
        )
        sampling = brief.sampling._replace(max_tokens=brief.sampling.max_tokens or ANSWER_TOKENS)
        return replace(brief, limits=limits, sampling=sampling)


def _smaller(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
