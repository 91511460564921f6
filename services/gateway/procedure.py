"""Procedures of the RPC protocol: name, shapes, methods and handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from services.gateway.ports import Call

Shape = Any
"""An argument of `TypeAdapter`, a class or a union of classes, and its instances; Python has no type for that."""
Handler = Callable[[Shape, Call], Awaitable[BaseModel | bytes | None]]


@dataclass(frozen=True)
class Procedure:
    """One procedure.

    `methods` are the accepted HTTP methods; `question` is None without an input; `durable` is the class of answers that
    a browser may cache for a minute; `versioned`: only for extensions that are not too old; `plain`: a body of
    text/plain is accepted too, if Sec-Fetch-Site shows that no page of another site sent it. A handler's bytes are an
    encoded answer, and of the `durable` class if there is one.
    """

    name: str
    kind: Literal["query", "mutation"]
    question: TypeAdapter[Shape] | None
    answer: TypeAdapter[Shape]
    handle: Handler
    methods: frozenset[str]
    durable: type[BaseModel] | None = None
    versioned: bool = True
    plain: bool = False


def mutation(name: str, question: Shape, answer: Shape, handle: Handler) -> Procedure:
    """A procedure that changes something."""
    return Procedure(name, "mutation", TypeAdapter(question), TypeAdapter(answer), handle, frozenset({"POST"}))


def anonymous_mutation(name: str, question: Shape, answer: Shape, handle: Handler) -> Procedure:
    """A mutation whose request carries nothing that identifies the browser: plain text, no extension version."""
    return replace(mutation(name, question, answer, handle), versioned=False, plain=True)


def query(
    name: str,
    question: Shape,
    answer: Shape,
    handle: Handler,
    *,
    also: Iterable[str] = (),
    durable: type[BaseModel] | None = None,
) -> Procedure:
    """A procedure that only reads, by GET and by the methods in `also`."""
    shape = None if question is None else TypeAdapter(question)
    return Procedure(name, "query", shape, TypeAdapter(answer), handle, frozenset({"GET", *also}), durable)


def public_query(name: str, question: Shape, answer: Shape, handle: Handler) -> Procedure:
    """A query without a check of the extension's version."""
    return replace(query(name, question, answer, handle), versioned=False)
