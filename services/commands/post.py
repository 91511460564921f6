"""`openerrata post`: what an operator does with one post."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import psycopg

from contracts.topology import ERRATA
from contracts.v1 import ErasureOrdered
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import Bus, BusError, connect
from kit.clock import SystemClock
from kit.database import migrate, open_session
from kit.erase import Undeletable, erase_messages
from kit.surroundings import Surroundings
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers
from services.projector.forget import Forgotten, NotFollowing, UnderWay
from services.projector.forget import forget as forget_post


@click.group(cls=Group)
def command() -> None:
    """Do something with one post.

    \b
    openerrata post forget https://en.wikipedia.org/wiki/Lake --reason "its author asked for it"
    """


@command.command()
@click.argument("url_or_id")
@click.option("--reason", required=True, help="Why, for the record; kept for ever, so it must name nobody.")
@data_dir_option
@plain_errors
def forget(url_or_id: str, reason: str, data_dir: Path) -> None:
    """Erase everything that is held of a post: texts, HTML, pictures, findings, and the bodies of its facts.

    URL_OR_ID is the post's address, or its id here.
    The projector must be running. Gateways follow at once and take no observation of the post any more. Safe to repeat,
    also after it was interrupted. Backups and exports made before hold the post until they are gone.
    """
    with servers(data_dir, quieter="error") as found:
        try:
            done = run(_forget(found, url_or_id, reason))
        except (UnderWay, NotFollowing, Undeletable, BusError, BlobsUnavailable) as error:
            raise click.ClickException(str(error)) from error
    click.echo(f"erased {done.facts:,} facts and {len(done.blobs):,} blobs")


class _Eraser:
    """The broker and the blob store."""

    def __init__(self, bus: Bus, blobs: Blobs) -> None:
        self._bus = bus
        self._blobs = blobs

    async def order(self, event: ErasureOrdered) -> tuple[UUID, int]:
        receipt = await self._bus.publish(event, correlation=event.erasure_id)
        return event.event_id(), receipt.sequence

    async def erase_messages(self, sequences: Sequence[int]) -> None:
        await erase_messages(self._bus, ERRATA.name, sequences)

    async def erase_blob(self, sha256: str) -> None:
        await self._blobs.remove(sha256)

    async def erase_answers(self, investigation: UUID) -> None:
        for ref in await self._blobs.answers(str(investigation)):
            await self._blobs.remove(ref.sha256, ref.under)


async def _forget(found: Surroundings, url_or_id: str, reason: str) -> Forgotten:
    await migrate(found.database_url)
    blobs = Blobs(found.blobs)
    try:
        async with (
            connect(found.nats_url, name="openerrata-forget") as bus,
            await open_session(found.database_url) as db,
        ):
            post, names = await _post(db, url_or_id)
            head = (await bus.jetstream.stream_info(ERRATA.name)).state.last_seq
            return await forget_post(
                db,
                _Eraser(bus, blobs),
                post,
                reason=reason,
                erasure_id=SystemClock().new_id(),
                head=head,
                names=names,
            )
    finally:
        blobs.close()


async def _post(db: psycopg.AsyncConnection[tuple[Any, ...]], url_or_id: str) -> tuple[UUID, tuple[str, ...]]:
    """The post's id, and what its site calls it; one that is given as an id may be forgotten already."""
    try:
        by_id: UUID | None = UUID(url_or_id)
    except ValueError:
        by_id = None
    rows = await (
        await db.execute("SELECT id, external_id FROM readmodel.post WHERE id = %s OR url = %s", (by_id, url_or_id))
    ).fetchall()
    if by_id is not None:
        return by_id, tuple(external_id for _, external_id in rows)
    if len(rows) != 1:
        raise click.ClickException(f"{len(rows)} posts have this address; give the id of one")
    ((id_, external_id),) = rows
    return id_, (external_id,)
