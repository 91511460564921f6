"""The record of one run with the provider: what was asked, what came back, what it cost, and no key in any of it.

An investigation is paid for once. Without this record nobody could say later why a claim was made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from openai.types.responses import Response
from pydantic import JsonValue

from contracts.v1.parts import Usage
from kit.models.base import ModelError


class Exchange:
    """Grows call by call; `transcript()` may be taken at any point, also after a failure."""

    def __init__(self, stage: str, request: Mapping[str, object], secret: str) -> None:
        self._head = {"stage": stage, "provider": "openai", **request}
        self._calls: list[dict[str, object]] = []
        self._secret = secret
        self.usage = Usage()

    def ask(self, given: object, previous_response_id: str | None = None) -> None:
        """Note a call before it is made, so that a failed one is on record too."""
        self._calls.append({"input": given, "previous_response_id": previous_response_id, "items": []})

    def item(self, item: Mapping[str, JsonValue]) -> None:
        """Note an output item that arrived; kept only if no whole response follows."""
        items = self._calls[-1]["items"]
        assert isinstance(items, list)
        items.append(item)

    def answer(self, response: Response) -> None:
        """Note a whole response, without the instructions and tools it echoes, and add up its cost."""
        call = self._calls[-1]
        call.pop("items", None)
        call["response"] = response.model_dump(
            mode="json", exclude_unset=True, exclude={"instructions", "tools"}, warnings=False
        )
        self.usage = _sum(self.usage, response)

    def transcript(self, failed: ModelError | None = None) -> bytes:
        """Everything so far as UTF-8 JSON."""
        error = failed and {"failure": failed.failure, "name": failed.name, "reason": failed.reason}
        text = json.dumps({**self._head, "calls": self._calls, "error": error}, ensure_ascii=False)
        return (text.replace(self._secret, "[key]") if self._secret else text).encode("utf-8", "replace")


def _sum(total: Usage, response: Response) -> Usage:
    spent = response.usage
    if spent is None:
        return total
    cached = spent.input_tokens_details.cached_tokens if spent.input_tokens_details else None
    reasoning = spent.output_tokens_details.reasoning_tokens if spent.output_tokens_details else None
    return Usage(
        input_tokens=total.input_tokens + spent.input_tokens,
        output_tokens=total.output_tokens + spent.output_tokens,
        total_tokens=total.total_tokens + spent.total_tokens,
        cached_input_tokens=_plus(total.cached_input_tokens, cached),
        reasoning_output_tokens=_plus(total.reasoning_output_tokens, reasoning),
    )


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more
