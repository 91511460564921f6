"""A sum of money that a run over many posts cannot exceed: each request reserves the most that it could cost.

Until a request has ended nobody knows how much its provider read and searched. An estimate can be exceeded; a bound
cannot: a model reads no more than its window and writes no more than it may.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from pydantic import SecretStr

from contracts.spent import format_usd
from contracts.transcript import Call, Price, Transcript
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
from kit.models.call_cap import SEARCHES
from kit.models.failover import KeyedModel
from kit.models.prices import MILLION
from kit.settings import SettingsError

MONEY_LIMIT: Final = "MoneyLimit"
"""The name of the error of a request that the rest of the sum does not pay for."""
ANSWER_TOKENS: Final = 16_000
"""How long one answer may be where its step sets no limit: without any, no request's cost would have a bound."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What bounds the cost of a request to one model. Units: `window` is the tokens that it reads at most.

    A provider searches up to `searches` times within a request, and asks the model again after each.
    """

    price: Price
    window: int
    searches: int = 0

    def most_micro_usd(self, answer_tokens: int, *, has_tools: bool) -> int:
        """The most that a request can cost, in millionths of a dollar. It searches only if it has tools."""
        searches = self.searches if has_tools else 0
        dearest = max(self.price.input, self.price.cached, self.price.cache_write)
        tokens = (1 + searches) * (self.window * dearest + answer_tokens * self.price.output)
        return searches * self.price.search - (-tokens // MILLION)


def ceilings_of(model: KeyedModel, window: int) -> tuple[Ceiling, ...]:
    """The bounds of all that the model asks. Raises: SettingsError: the price of one is not known."""
    ceilings = []
    for each in model.charges:
        if each.price is None:
            raise SettingsError(f"a live bench needs the price of {each.model.model}: set OPENERRATA_MODEL_PRICES")
        ceilings.append(Ceiling(each.price, window, SEARCHES if each.searches else 0))
    return tuple(ceilings)


class Budget:
    """What is left of a sum. Units: millionths of a dollar."""

    def __init__(self, limit_micro_usd: int) -> None:
        self._left = limit_micro_usd
        self._reserved = 0
        self._settled = asyncio.Event()

    @property
    def left_micro_usd(self) -> int:
        """What is neither spent nor reserved."""
        return self._left - self._reserved

    async def reserve(self, micro_usd: int, usage: Usage | None) -> None:
        """Wait until an amount is left, and reserve it. Raises: ModelError, with the use so far: it never will be."""
        while self.left_micro_usd < micro_usd:
            if not self._reserved:
                left, most = format_usd(self.left_micro_usd), format_usd(micro_usd)
                reason = f"The money limit of this bench is reached: {left} are left, and a request could cost {most}."
                raise ModelError("NON_RETRYABLE", reason, name=MONEY_LIMIT, usage=usage)
            await self._settled.wait()
        self._reserved += micro_usd

    def settle(self, reserved: int, spent: int) -> None:
        """Replace a reservation by the true cost."""
        self._reserved -= reserved
        self._left -= spent
        self._settled.set()
        self._settled = asyncio.Event()


class BudgetedModel:
    """A model whose every request is paid for before it is sent, and settled at its true cost.

    A cost that is not known counts as the most that it could be.
    """

    def __init__(self, model: Model, limit_micro_usd: int, ceilings: Sequence[Ceiling]) -> None:
        """Raises: SettingsError: the limit does not pay for one request."""
        self._model = model
        self._ceilings = ceilings
        self._budget = Budget(limit_micro_usd)
        self.name = model.name
        self.labelled_demo = model.labelled_demo
        self.sees_pictures = model.sees_pictures
        if (most := self._most(ANSWER_TOKENS, has_tools=True)) > limit_micro_usd:
            raise SettingsError(
                f"a request to {model.name.model} could cost {format_usd(most)}, and --max-usd allows less"
            )

    @property
    def left_micro_usd(self) -> int:
        """What is neither spent nor reserved."""
        return self._budget.left_micro_usd

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Converse as the model does. Raises: ModelError, also where the rest of the sum does not pay for a request."""
        sampling = brief.sampling._replace(max_tokens=brief.sampling.max_tokens or ANSWER_TOKENS)
        most = self._most(sampling.max_tokens or ANSWER_TOKENS, has_tools=bool(brief.tools))
        capped = replace(brief, sampling=sampling, limits=replace(brief.limits, call_micro_usd=most))
        settled = Usage(cost_micro_usd=0)
        calls: int | None = None
        await self._budget.reserve(most, settled)
        reserved = spent = most
        try:
            async with aclosing(self._model.converse(capped, key)) as items:
                async for item in items:
                    if not isinstance(item, Decision):
                        spent = _growth(item.usage, settled, otherwise=most)
                    if isinstance(item, Checkpoint):  # another request follows
                        self._budget.settle(most, spent)
                        reserved = spent = 0
                        settled, calls = item.usage, item.calls
                    yield item
                    if isinstance(item, Checkpoint):
                        await self._budget.reserve(most, settled)
                        reserved = spent = most
        except ModelError as error:
            if reserved:
                spent = _last_cost(error, settled, calls, otherwise=most)
            raise
        finally:
            self._budget.settle(reserved, spent)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Refuse: no reader's key pays for a bench."""
        return KeyRefused("error", "A bench takes no keys of readers.")

    def _most(self, answer_tokens: int, *, has_tools: bool) -> int:
        return max((each.most_micro_usd(answer_tokens, has_tools=has_tools) for each in self._ceilings), default=0)


def _growth(usage: Usage | None, settled: Usage, *, otherwise: int) -> int:
    """What was spent since `settled`, by an answer: one that seems to cost nothing was not counted."""
    if usage is None or usage.cost_micro_usd is None:
        return otherwise
    return usage.cost_micro_usd - (settled.cost_micro_usd or 0) or otherwise


def _last_cost(error: ModelError, settled: Usage, calls: int | None, *, otherwise: int) -> int:
    """What the requests after the first `calls` of a conversation cost that has failed."""
    if error.transcript is None:
        return otherwise
    record = Transcript.model_validate_json(error.transcript)
    answered = [call for call in record.calls[calls or record.taken_over :] if not _is_free(call)]
    if not answered:
        return 0
    is_whole = all(call.ending == "complete" for call in answered)
    return _growth(error.usage, settled, otherwise=otherwise) if is_whole else otherwise


def _is_free(call: Call) -> bool:
    """Whether the provider answered nothing that it charges for."""
    return call.ending == "unreached" or (call.status or 0) >= 400
