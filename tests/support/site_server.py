"""The public pages alone, over a read model: on a socket of their own, or without one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.routing import Router

from kit.database import Database
from kit.http import HttpServer, bind
from services.gateway.ports import Copies
from services.gateway.public.site.copies import SourceArchive
from services.gateway.public.site.pages import Pages
from services.gateway.public.site.routes import Site
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import fill, store_at
from tests.unit.gateway.fakes import Bench, KeptCopies
from tests.unit.projector.histories import Tape


class ClockAt:
    """A clock that stands still."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0

    def new_salt(self) -> str:
        return "0" * 43

    def new_id(self) -> UUID:
        raise AssertionError("pages make no ids")


async def tell(database_url: str, *tapes: Tape) -> None:
    """Project whole streams."""
    store = store_at(database_url)
    for tape in tapes:
        await fill(store, tape.records)
    await store.close()


@asynccontextmanager
async def pages_of(
    database_url: str, now: datetime, *, copies: Copies | None = None, catalogue: bool = False, **extra: Any
) -> AsyncIterator[Router]:
    """The pages as an ASGI application."""
    database = Database(database_url, role="reader")
    try:
        record = PublicRecord(database)
        yield Site(
            Pages(record, ClockAt(now), Bench().app.shell.openapi),
            SourceArchive(record, copies or KeptCopies()),
            catalogue=catalogue,
            **extra,
        ).router()
    finally:
        await database.close()


@asynccontextmanager
async def site_server(database_url: str, now: datetime, **extra: Any) -> AsyncIterator[str]:
    """The pages on a free port; gives their address."""
    async with pages_of(database_url, now, catalogue=True, **extra) as router:
        server = HttpServer(router, bind("127.0.0.1", 0))
        await server.start()
        try:
            yield server.url
        finally:
            await server.stop()
