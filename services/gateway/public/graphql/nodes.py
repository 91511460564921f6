"""Return values of resolvers, besides rows of the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from contracts.rpc.public import LoggedDecision
from services.gateway.public.highlight import Highlight
from services.gateway.record.appeals import AuthorStatement
from services.gateway.record.investigations import Investigation, Summary
from services.gateway.record.posts import Post
from services.gateway.record.rows import Claim, WithdrawnClaim

Row = TypeVar("Row", covariant=True)


@dataclass(frozen=True, slots=True)
class Node(Generic[Row]):
    """A row with further fields: values, or functions that load them."""

    row: Row
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class InvestigationResult:
    """One finished investigation with its post and claims."""

    investigation: Node[Investigation]
    post: Node[Investigation]
    claims: tuple[Node[Claim], ...]
    withdrawn_claims: tuple[WithdrawnClaim, ...]
    author_statements: Sequence[AuthorStatement]
    decisions: tuple[LoggedDecision, ...]


@dataclass(frozen=True, slots=True)
class PostInvestigations:
    """All finished investigations of a post."""

    post: Node[Post] | None
    investigations: Sequence[Summary]


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of finished investigations, by offset."""

    investigations: Sequence[Summary]
    has_more: bool


@dataclass(frozen=True, slots=True)
class PageInfo:
    """The end of a connection's page."""

    has_next_page: bool
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A node and its cursor."""

    cursor: str
    node: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEdge(Edge):
    """A search result."""

    node: Summary
    title: str | None
    author_name: str | None
    author_confirmed: bool
    highlights: Sequence[Highlight]


@dataclass(frozen=True, slots=True)
class Connection:
    """A page of a list."""

    edges: Sequence[Edge]
    page_info: PageInfo
