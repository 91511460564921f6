"""Refusals that reach whoever asked; everything else that goes wrong is masked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from graphql import GraphQLError

from services.gateway.search.question import BadQuestion


class BadInput(GraphQLError):
    """The caller can do better; the message says how."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": "BAD_USER_INPUT"})


def in_range(name: str, value: int | None, least: int, most: int) -> None:
    """Raises: BadInput: also for null, which GraphQL allows where an argument has a default."""
    if value is None or not least <= value <= most:
        raise BadInput(f"`{name}` must be between {least} and {most}.")


def telling(resolver: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A resolver whose refusals reach the caller."""

    async def told(*sources: Any, **arguments: Any) -> Any:
        try:
            return await resolver(*sources, **arguments)
        except BadQuestion as refusal:
            raise BadInput(str(refusal)) from refusal

    return told
