"""Executes one GraphQL document: parse, validate, limit, run, and mask internal errors.

Every exception inside a resolver is masked unless it is meant for clients, so no internal text can leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import isawaitable
from operator import itemgetter
from typing import Final, Literal

import structlog
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    execute,
    get_operation_ast,
    parse,
    validate,
)
from graphql.execution.values import get_variable_values

from kit.cache import Cache
from services.gateway.ports import Unavailable
from services.gateway.public.graphql import limits
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.graphql.resolvers import executable_schema, resolve
from services.gateway.record.question import BadQuestion

MAX_ERRORS: Final = 10
CACHED_CHARS: Final = 200_000
"""Of all cached documents together; each character of a dense document takes 100 to 200 bytes when parsed."""
_OVERHEAD: Final = 400
MASKED: Final = {"message": "Unexpected error.", "extensions": {"code": "INTERNAL_SERVER_ERROR"}}

Outcome = Literal["done", "unavailable", "refused", "bad variables"]
log: structlog.stdlib.BoundLogger = structlog.get_logger("graphql")


@dataclass(frozen=True, slots=True)
class Answer:
    """The response's body and its outcome: run, refused before it ran, or refused for its variables' values.

    `unavailable`: an outage left no data.
    """

    outcome: Outcome
    body: Mapping[str, object]


class Refusal(Exception):
    """The document is not executed."""

    def __init__(self, outcome: Outcome, errors: list[dict[str, object]]) -> None:
        super().__init__(outcome)
        self.answer = Answer(outcome, {"errors": errors})


class GraphQL:
    """Executes documents over a graph; parsed documents are cached."""

    def __init__(self, graph: RecordGraph) -> None:
        self._graph = graph
        self._schema = executable_schema()
        self._parsed: Cache[str, tuple[int, DocumentNode | Answer]] = Cache(capacity=CACHED_CHARS, weigh=itemgetter(0))

    async def answer(self, query: str, variables: Mapping[str, object], operation_name: str | None) -> Answer:
        """Answer one request."""
        try:
            document = self._read(query)
            if isinstance(document, Answer):
                return document
            operation = _operation(document, operation_name)
            values = self._variables(operation, variables)
            limits.check(self._schema, document, operation, values)
        except Refusal as refusal:
            return refusal.answer
        except limits.QueryTooComplex as refusal:
            return Answer("refused", {"errors": [dict(refusal.formatted)]})
        running = execute(
            self._schema,
            document,
            context_value=self._graph,
            variable_values=dict(variables),
            operation_name=operation_name,
            field_resolver=resolve,
            hide_suggestions=True,
        )
        result = await running if isawaitable(running) else running
        assert isinstance(result, ExecutionResult)
        body: dict[str, object] = {"data": result.data}
        if result.errors:
            body["errors"] = [_mask(error) for error in result.errors]
        empty = not any(value is not None for value in (result.data or {}).values())
        out = empty and any(isinstance(error.original_error, Unavailable) for error in result.errors or ())
        return Answer("unavailable" if out else "done", body)

    def is_query(self, query: str, operation_name: str | None) -> bool:
        """Whether the operation is a query; an invalid document counts as one, since it is refused elsewhere."""
        document = self._parse(query)
        if isinstance(document, Answer):
            try:
                document = parse(query, max_tokens=limits.MAX_TOKENS)
            except GraphQLError:
                return True
        operation = get_operation_ast(document, operation_name)
        return operation is None or operation.operation is OperationType.QUERY

    def _read(self, query: str) -> DocumentNode | Answer:
        known = self._parsed.get(query)
        if known is None:
            known = _OVERHEAD + len(query), self._parse(query)
            self._parsed.put(query, known)
        return known[1]

    def _parse(self, query: str) -> DocumentNode | Answer:
        try:
            limits.check_length(query)
            document = parse(query, max_tokens=limits.MAX_TOKENS, allow_empty_selection_sets=False)
            limits.check_repetitions(document)
        except GraphQLSyntaxError as error:
            return Answer("refused", {"errors": [_with_code(error, "GRAPHQL_PARSE_FAILED")]})
        except limits.QueryTooComplex as refusal:
            return Answer("refused", {"errors": [dict(refusal.formatted)]})
        errors = validate(
            self._schema, document, max_errors=MAX_ERRORS, hide_suggestions=True, allow_empty_selection_sets=False
        )
        if errors:
            return Answer("refused", {"errors": [_with_code(error, "GRAPHQL_VALIDATION_FAILED") for error in errors]})
        return document

    def _variables(self, operation: OperationDefinitionNode, given: Mapping[str, object]) -> Mapping[str, object]:
        found = get_variable_values(
            self._schema,
            operation.variable_definitions or (),
            dict(given),
            max_errors=MAX_ERRORS,
            hide_suggestions=True,
        )
        if isinstance(found, list):
            raise Refusal("bad variables", [dict(error.formatted) for error in found])
        coerced: Mapping[str, object] = found.coerced
        return coerced


def _operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    operation = get_operation_ast(document, name)
    if operation is None:
        message = "Name one operation of the document." if name is None else f"There is no operation {name!r}."
        raise Refusal("refused", [{"message": message, "extensions": {"code": "OPERATION_RESOLUTION_FAILURE"}}])
    return operation


def _with_code(error: GraphQLError, code: str) -> dict[str, object]:
    return {**error.formatted, "extensions": {"code": code}}


def _mask(error: GraphQLError) -> dict[str, object]:
    cause = error.original_error
    coded = error if cause is None else cause
    if isinstance(coded, GraphQLError) and coded.extensions and coded.extensions.get("code"):
        return dict(error.formatted)
    if isinstance(cause, Unavailable):
        log.warning("unavailable", path=error.path, reason=str(cause))
    elif not isinstance(cause, BadQuestion):
        log.error("resolver failed", path=error.path, exc_info=cause)
    return {**error.formatted, **MASKED}
