"""`openerrata erase`: erase a job, an assertion or an account; and how any erasure reaches broker and blob store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import click

from contracts.jobs.ids import parse_job_id
from contracts.v1.parts import EPHEMERAL
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.database import migrate, open_session
from kit.ephemeral import TextBucket
from kit.erase import Undeletable, erase_messages
from kit.publisher import BusError
from kit.servers_in_use import Servers
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import format_count
from services.projector.erasure import erase as erasing
from services.projector.erasure.erase import Erased, ProjectorNotRunning, StoredBlob, WorkOpen
from services.projector.erasure.root import ACCOUNT, ASSERTION, JOB, ErasureOrder, Root
from services.projector.store.load import Connection

FAILURES: Final = (WorkOpen, ProjectorNotRunning, Undeletable, BusError, BlobsUnavailable)
"""Errors that stop an erasure; it can be repeated."""
REASONS: Final = ("asked_for", "court_order", "unlawful", "mistake")


@click.group(cls=Group)
def command() -> None:
    """Erase a job, an assertion or an account. A post is erased by `openerrata post erase`.

    \b
    openerrata erase job 01KCSF5Z0000000000000000A1 --reason asked_for
    """


_reason = click.option(
    "--reason", type=click.Choice(REASONS), required=True, help="Why; stored permanently, so it is one of these words."
)


@command.command("job")
@click.argument("job")
@_reason
@on_servers
def erase_job(job: str, reason: str, data_dir: Path) -> None:
    """Erase everything about a job: its words, its rows, and the bodies of its facts.

    JOB is its id, as the API shows it or as a UUID. Its credit stays on the account, and so do the analyses of its
    claims, which others use. The projector must be running. Safe to repeat, also after an interruption.

    \b
    openerrata erase job 01KCSF5Z0000000000000000A1 --reason asked_for
    """
    id_ = parse_job_id(job) or _parse_uuid(job)
    _erase(data_dir, JOB, id_, reason)


@command.command("assertion")
@click.argument("assertion", type=click.UUID)
@_reason
@on_servers
def erase_assertion(assertion: UUID, reason: str, data_dir: Path) -> None:
    """Erase everything about an assertion: its words, its analyses, and the bodies of their facts.

    ASSERTION is its id. Results of jobs that make the claim hold it until they expire, within a day. The projector must
    be running. Safe to repeat, also after an interruption.

    \b
    openerrata erase assertion 8549f247-846f-57ce-aa65-eba9e64a0f4e --reason court_order
    """
    _erase(data_dir, ASSERTION, assertion, reason)


@command.command("account")
@click.argument("account", type=click.UUID)
@_reason
@on_servers
def erase_account(account: UUID, reason: str, data_dir: Path) -> None:
    """Erase what an account did: its jobs, its credit, and the facts of its keys.

    ACCOUNT is its id. Close it first: `openerrata accounts close NAME --erase` deletes its name and keys. The projector
    must be running. Safe to repeat, also after an interruption.

    \b
    openerrata erase account 019b2f2e-7c00-7000-8000-000000000002 --reason asked_for
    """
    _erase(data_dir, ACCOUNT, account, reason)


@dataclass(frozen=True, slots=True)
class StoreEraser:
    """Erases from the broker, expiring texts included, and from the blob store."""

    bus: Bus
    blobs: Blobs

    async def order(self, event: ErasureOrder) -> tuple[UUID, int]:
        """Publish the erasure; returns its event id and its sequence."""
        receipt = await self.bus.publish(event, correlation=event.erasure_id)
        return event.event_id(), receipt.sequence

    async def erase_messages(self, root: Root, sequences: Sequence[int]) -> None:
        """Remove facts with their dead letters and redeliveries."""
        await erase_messages(self.bus, root.stream, sequences)

    async def erase_blob(self, blob: StoredBlob) -> None:
        """Remove an object or an expiring text."""
        if blob.hour and blob.under is not None:
            await TextBucket(self.bus).remove(blob.under)
        else:
            await self.blobs.remove(blob.sha256, blob.under)

    async def erase_folder(self, place: str) -> None:
        """Remove everything below a prefix."""
        if place.startswith(f"{EPHEMERAL}/"):
            await TextBucket(self.bus).remove(place)
        else:
            await self.blobs.remove_folder(place)


@dataclass(frozen=True, slots=True)
class Erasing:
    """The connections that an erasure needs."""

    db: Connection
    eraser: StoreEraser

    async def erase(self, root: Root, id_: UUID, reason: str, names: Sequence[str] = ()) -> Erased:
        """Erase a root; `names` are the site's ids of it. Raises: FAILURES."""
        head = (await self.eraser.bus.jetstream.stream_info(root.stream)).state.last_seq
        erasure_id = SystemClock().new_id()
        return await erasing.erase(
            self.db, self.eraser, root, id_, reason=reason, erasure_id=erasure_id, head=head, names=names
        )


@asynccontextmanager
async def open_erasing(found: Servers) -> AsyncGenerator[Erasing, None]:
    """Connect to database, broker and blob store, and migrate the database to this version."""
    await migrate(found.database_url)
    with closing(Blobs(found.blobs)) as blobs:
        async with (
            connect(found.nats_url, name="openerrata-erase") as bus,
            await open_session(found.database_url) as db,
        ):
            yield Erasing(db, StoreEraser(bus, blobs))


def report(done: Erased) -> None:
    """Say what was erased."""
    click.echo(f"erased {format_count(done.facts, 'fact')} and {format_count(len(done.blobs), 'blob')}")
    if not done.facts and not done.blobs:
        click.echo("nothing has this id, or it was erased before: is it the right one?", err=True)


def _erase(data_dir: Path, root: Root, id_: UUID, reason: str) -> None:
    with as_message(*FAILURES):
        report(run_on_servers(data_dir, lambda found: _erase_entity(found, root, id_, reason.upper())))


async def _erase_entity(found: Servers, root: Root, id_: UUID, reason: str) -> Erased:
    async with open_erasing(found) as erasing_:
        if root is ACCOUNT:
            await _require_closed(erasing_.db, id_)
        return await erasing_.erase(root, id_, reason)


async def _require_closed(db: Connection, account: UUID) -> None:
    """Raises: click.ClickException: the account can still ask for audits."""
    found = await db.execute("SELECT username FROM operator.account WHERE id = %s AND closed_at IS NULL", (account,))
    if (row := await found.fetchone()) is not None:
        raise click.ClickException(f"this account is open; first `openerrata accounts close {row[0]} --erase`")


def _parse_uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise click.BadParameter("neither a job's id nor a UUID", param_hint="JOB") from None
