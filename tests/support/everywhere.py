"""All that a running system keeps or says, to be searched for what must not be there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final

from minio import Minio
from psycopg import sql

from kit.database import open_session
from kit.ephemeral import STREAM
from tests.support.extension_client import Extension
from tests.support.oracle import Oracle
from tests.support.system import System

WORDS: Final = f"stream {STREAM}"
"""Where words that expire are."""


async def streams(oracle: Oracle) -> AsyncIterator[tuple[str, str]]:
    """Every stream there is, the buckets' too."""
    for info in await oracle.bus.jetstream.streams_info():
        name = info.config.name or ""
        yield f"stream {name}", await oracle.stream_text(name)


async def tables(system: System) -> AsyncIterator[tuple[str, str]]:
    """Every table of every schema of ours, as a dump would copy it."""
    async with await open_session(system.database_url) as db:
        found = await db.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            " AND schemaname NOT LIKE 'pg\\_temp%'"
        )
        for schema, table in await found.fetchall():
            dump = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(schema, table))
            async with db.cursor().copy(dump) as copy:
                yield f"table {schema}.{table}", b"".join([bytes(row) async for row in copy]).decode()


def objects(system: System) -> Iterator[tuple[str, str]]:
    """Every object in the blob store, and every version of it that is kept."""
    given = system.blob_settings
    client = Minio(
        given["OPENERRATA_S3_ENDPOINT"].removeprefix("http://"),
        given["OPENERRATA_S3_ACCESS_KEY"],
        given["OPENERRATA_S3_SECRET_KEY"],
        secure=False,
    )
    bucket = given["OPENERRATA_S3_BUCKET"]
    for each in client.list_objects(bucket, recursive=True, include_version=True):
        answer = client.get_object(bucket, each.object_name, version_id=each.version_id)
        yield f"object {each.object_name}", answer.data.decode(errors="replace")
        answer.close()


async def read_everything(system: System, oracle: Oracle) -> dict[str, str]:
    """All that the system keeps or says, by where it is."""
    found = {"logs": system.log_text()}
    found |= {where: text async for where, text in streams(oracle)}
    found |= {where: text async for where, text in tables(system)}
    found |= await asyncio.to_thread(lambda: dict(objects(system)))
    for url in filter(
        None, (each for process in system.processes.values() for each in (process.url, process.operations_url))
    ):
        async with Extension(url) as reader:
            for path in ("/metrics", "/health", "/openapi.json"):
                found[f"{url}{path}"] = (await reader.http.get(path)).text
    return found
