"""Errors that are shown to clients; all others are masked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from graphql import GraphQLError

from services.gateway.record.question import BadQuestion


class BadInput(GraphQLError):
    """Invalid arguments; the message is for the client."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": "BAD_USER_INPUT"})


def check_range(name: str, value: int | None, least: int, most: int) -> None:
    """Raises: BadInput: also for null, which GraphQL allows where an argument has a default."""
    if value is None or not least <= value <= most:
        raise BadInput(f"`{name}` must be between {least} and {most}.")


def expose_refusals(resolver: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Wrap a resolver so that clients see its BadQuestion."""

    async def resolve(*sources: object, **arguments: object) -> object:
        try:
            return await resolver(*sources, **arguments)
        except BadQuestion as refusal:
            raise BadInput(str(refusal)) from refusal

    return resolve
