"""A client of the public record's GraphQL, over the endpoint alone: a database behind it, no broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from graphql import GraphQLObjectType, get_named_type
from prometheus_client import CollectorRegistry

from kit.database import Database
from services.gateway.http import BodyTimeouts
from services.gateway.metrics import Metrics
from services.gateway.public.graphql.execute import GraphQL
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.graphql.http import GraphQLEndpoint
from services.gateway.record.repository import PublicRecord


def endpoint(graph: RecordGraph) -> GraphQLEndpoint:
    """The endpoint over a record."""
    return GraphQLEndpoint(GraphQL(graph), Metrics(CollectorRegistry()), body_timeouts=BodyTimeouts(20, 20))


class Client:
    """Asks, and expects to be answered."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def post(self, query: str, /, **variables: Any) -> httpx.Response:
        """One request as most clients send it."""
        return await self.http.post("/graphql", json={"query": query, "variables": variables})

    async def ask(self, query: str, /, **variables: Any) -> Any:
        """The data of an answer without errors."""
        response = await self.post(query, **variables)
        assert response.status_code == 200, response.text
        body = response.json()
        assert set(body) == {"data"}, response.text
        return body["data"]

    async def refused(self, query: str, /, **variables: Any) -> tuple[int, Any]:
        """The status and the one error of an answer."""
        response = await self.post(query, **variables)
        (error,) = response.json()["errors"]
        return response.status_code, error


@asynccontextmanager
async def graphql_client(database_url: str) -> AsyncIterator[Client]:
    """A client of the read model in this database."""
    database = Database(database_url, role="reader")
    transport = httpx.ASGITransport(app=endpoint(RecordGraph(PublicRecord(database))))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
            yield Client(http)
    finally:
        await database.close()


def everything_of(of: GraphQLObjectType) -> str:
    """A selection of every field that there is, so that a new one is looked at too; authors lead on without end."""
    chosen = []
    for name, field in of.fields.items():
        below = get_named_type(field.type)
        inner = everything_of(below) if isinstance(below, GraphQLObjectType) else ""
        chosen += [f"{name} {inner}"] if name != "author" else []
    return f"{{ {' '.join(chosen)} }}"
