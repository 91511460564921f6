"""Limits of one document: length, depth, aliases and cost, computed before anything is read.

The cost is one for each field, times the size of every list around it, whether the size is in the document or in a
variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
)

MAX_CHARACTERS: Final = 20_000
"""White space and long strings are few tokens, but to locate an error the text is read from its beginning."""
MAX_TOKENS: Final = 2_000
MAX_DEPTH: Final = 16
MAX_ALIASES: Final = 20
MAX_COST: Final = 5_000
MAX_REPETITIONS: Final = 10_000
"""The sum of squares of how often each name is asked for, since fields of one name are compared with each other."""
ROOT_COST: Final = 10
READING_COST: Final = 1_000
"""Counting within a time window reads all of the window, and a search may read every text."""
PAGE: Final = 20
"""The default size of a list."""

PAGE_LIMIT: Final = 100
"""The largest size of a list; a larger one is refused by the resolver."""

_SIZES: Final = ("first", "limit")
_READING: Final = ("windowStart", "windowEnd", "query")
_OPEN: Final = "postInvestigations"
"""The only list without a size argument."""


def _field_cost(node: FieldNode) -> int:
    """The cost of a field of `Query` itself."""
    return READING_COST if any(each.name.value in _READING for each in node.arguments or ()) else ROOT_COST


class QueryTooComplex(GraphQLError):
    """The document exceeds a limit."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": "QUERY_TOO_COMPLEX"})


def check_length(query: str) -> None:
    """Limit the cost of parsing. Raises: QueryTooComplex."""
    if len(query) > MAX_CHARACTERS:
        raise QueryTooComplex(f"The query has more than {MAX_CHARACTERS} characters; variables may hold longer texts.")


def check_repetitions(document: DocumentNode) -> None:
    """Limit the cost of validating. Shapes: the document is parsed, and may be invalid. Raises: QueryTooComplex."""
    names: Counter[str] = Counter()
    pending: list[SelectionSetNode | None] = [getattr(each, "selection_set", None) for each in document.definitions]
    while pending:
        below = pending.pop()
        for node in below.selections if below is not None else ():
            if isinstance(node, FieldNode):
                names[(node.alias or node.name).value] += 1
            if isinstance(node, FieldNode | InlineFragmentNode):
                pending.append(node.selection_set)
    if sum(count * count for count in names.values()) > MAX_REPETITIONS:
        raise QueryTooComplex("The query asks for the same fields again and again.")


def check(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, object]
) -> None:
    """Limit depth, aliases and cost. Shapes: the document is valid. Raises: QueryTooComplex."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    _Count(fragments, variables).fields(operation.selection_set, schema.query_type, 1, 1)


@dataclass
class _Count:
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, object]
    aliases: int = 0
    cost: int = 0
    visited: int = 0

    def fields(self, selections: SelectionSetNode | None, of: GraphQLObjectType | None, depth: int, times: int) -> None:
        for node in self._expanded(selections):
            if depth > MAX_DEPTH:
                raise QueryTooComplex(f"The query is more than {MAX_DEPTH} levels deep.")
            self.aliases += node.alias is not None
            if self.aliases > MAX_ALIASES:
                raise QueryTooComplex(f"The query has more than {MAX_ALIASES} aliases.")
            self.cost += times * (_field_cost(node) if depth == 1 else 1)
            if self.cost > MAX_COST:
                raise QueryTooComplex(
                    f"The query asks for more than {MAX_COST} fields; ask for fewer, or for smaller pages."
                )
            definition = None if of is None else of.fields.get(node.name.value)
            below = None if definition is None else get_named_type(definition.type)
            size = 1 if definition is None else self._size(node, definition)
            self.fields(
                node.selection_set, below if isinstance(below, GraphQLObjectType) else None, depth + 1, times * size
            )

    def _expanded(self, selections: SelectionSetNode | None) -> Iterator[FieldNode]:
        for node in selections.selections if selections is not None else ():
            self.visited += 1
            if self.visited > MAX_COST:
                raise QueryTooComplex(f"The query asks for more than {MAX_COST} fields.")
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, InlineFragmentNode):
                yield from self._expanded(node.selection_set)
            elif isinstance(node, FragmentSpreadNode):
                yield from self._expanded(self.fragments[node.name.value].selection_set)

    def _size(self, node: FieldNode, definition: GraphQLField) -> int:
        if not any(name in definition.args for name in _SIZES):
            return PAGE if node.name.value == _OPEN else 1
        size: object = PAGE
        for argument in node.arguments or ():
            if argument.name.value in _SIZES and isinstance(argument.value, IntValueNode):
                size = int(argument.value.value)
            elif argument.name.value in _SIZES and isinstance(argument.value, VariableNode):
                size = self.variables.get(argument.value.name.value)
        return min(max(1, size), PAGE_LIMIT) if isinstance(size, int) else PAGE
