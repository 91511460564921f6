"""How much one document may ask for: depth, aliases and cost are known before anything is read.

Cost is one for each field, times the size of every list around it that the client chose, whether it wrote the number
into the document or into a variable. A limit that looked at the document alone could be passed with `first: $n`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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

MAX_TOKENS: Final = 2_000
MAX_DEPTH: Final = 16
MAX_ALIASES: Final = 20
MAX_COST: Final = 5_000
ROOT_COST: Final = 10
WINDOW_COST: Final = 1_000
"""To count what lies in a window, all of it is looked at."""
PAGE: Final = 20
"""What a list holds if nobody says how much."""

PAGE_LIMIT: Final = 100
"""What a list holds at most; who asks for more is refused when the list is read."""

_SIZES: Final = ("first", "limit")
_WINDOW: Final = ("windowStart", "windowEnd")
_OPEN: Final = "postInvestigations"
"""The one list that has no size: all that a post has."""


def _price(node: FieldNode) -> int:
    """What a field of `Query` costs by itself."""
    return WINDOW_COST if any(each.name.value in _WINDOW for each in node.arguments or ()) else ROOT_COST


class TooMuch(GraphQLError):
    """The document asks for more than one request may."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": "QUERY_TOO_COMPLEX"})


def check(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> None:
    """Refuse what is too deep, too wide or too dear. Shapes: the document is valid. Raises: TooMuch."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    _Count(fragments, variables).fields(operation.selection_set, schema.query_type, 1, 1)


@dataclass
class _Count:
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    aliases: int = 0
    cost: int = 0
    visited: int = 0

    def fields(self, selections: SelectionSetNode | None, of: GraphQLObjectType | None, depth: int, times: int) -> None:
        for node in self._expanded(selections):
            if depth > MAX_DEPTH:
                raise TooMuch(f"The query is more than {MAX_DEPTH} levels deep.")
            self.aliases += node.alias is not None
            if self.aliases > MAX_ALIASES:
                raise TooMuch(f"The query has more than {MAX_ALIASES} aliases.")
            self.cost += times * (_price(node) if depth == 1 else 1)
            if self.cost > MAX_COST:
                raise TooMuch(f"The query asks for more than {MAX_COST} fields; ask for fewer, or for smaller pages.")
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
                raise TooMuch(f"The query asks for more than {MAX_COST} fields.")
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
