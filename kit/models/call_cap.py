"""The most that one request to a model may cost, compared with an estimate before the request is sent.

The estimate is meant to be too high rather than too low. It assumes tokens of three bytes, the longest answer allowed,
and as many searches as the request allows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from contracts.spent import format_usd
from contracts.transcript import Price
from contracts.v1.parts import Usage
from kit.models.base import ModelError
from kit.models.failures import price_unknown
from kit.models.prices import MILLION

BYTES_A_TOKEN: Final = 3
SEARCHES: Final = 10
"""The most searches within one request whose cost is limited: the provider charges for each, after the fact."""


@dataclass(frozen=True, slots=True)
class CallCap:
    """The cost limit of one request.

    Units: `micro_usd` is millionths of a US dollar, None for no cap; `max_tokens` is of the answer, None: not counted.

    `searches` is how often the provider may search within a request with tools.
    """

    model: str
    price: Price | None
    micro_usd: int | None
    max_tokens: int | None
    searches: int = 0

    def require_room(self, body: Mapping[str, JsonValue], before: Usage) -> None:
        """Refuse a request above the cap. Raises: ModelError: it could cost more, or its model has no price."""
        if self.micro_usd is None:
            return
        if self.price is None:
            raise price_unknown(self.model)
        cost = self.estimate(body, before, self.price)
        if cost > self.micro_usd:
            reason = f"A request could cost {format_usd(cost)}; a single one may cost {format_usd(self.micro_usd)}."
            raise ModelError("NON_RETRYABLE", reason, name="CostLimit")

    def estimate(self, body: Mapping[str, JsonValue], before: Usage, price: Price) -> int:
        """The most that a request could cost, in millionths; `before` is the usage of its conversation so far."""
        asked = -(-len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")) // BYTES_A_TOKEN)
        if "previous_response_id" in body:  # the provider adds what was exchanged before
            asked += before.total_tokens
        searches = self.searches * price.search if body.get("tools") else 0
        return searches - (-(asked * price.input + (self.max_tokens or 0) * price.output) // MILLION)
