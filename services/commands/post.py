"""`openerrata post`: erase a post."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

import click

from kit.servers_in_use import Servers
from services.commands.erase import FAILURES, open_erasing, report
from services.commands.shared import Group, as_message, on_servers, read_line, run_on_servers
from services.projector.erasure.erase import Erased
from services.projector.erasure.root import POST
from services.projector.store.load import Connection

LONGEST_REASON: Final = 500


@click.group(cls=Group)
def command() -> None:
    """Erase a post.

    \b
    openerrata post erase https://en.wikipedia.org/wiki/Lake --reason "its author asked for it"
    """


@command.command("erase")
@click.argument("url_or_id")
@click.option(
    "--reason",
    required=True,
    callback=read_line(LONGEST_REASON, "a reason"),
    help="Why; stored permanently, so it must not name a person.",
)
@on_servers
def erase_post(url_or_id: str, reason: str, data_dir: Path) -> None:
    """Erase everything about a post: texts, HTML, pictures, findings, and the bodies of its facts.

    URL_OR_ID is the post's address, or its id in this instance.
    The projector must be running. Gateways refuse further observations of the post at once. Safe to repeat, also after
    an interruption. Earlier backups and exports still contain the post.
    """
    with as_message(*FAILURES):
        report(run_on_servers(data_dir, lambda found: _erase(found, url_or_id, reason)))


async def _erase(found: Servers, url_or_id: str, reason: str) -> Erased:
    async with open_erasing(found) as erasing:
        post, names = await _find_post(erasing.db, url_or_id)
        return await erasing.erase(POST, post, reason, names)


async def _find_post(db: Connection, url_or_id: str) -> tuple[UUID, tuple[str, ...]]:
    """The post's id, and its external ids; a post that is given by id may be erased already."""
    try:
        by_id: UUID | None = UUID(url_or_id)
    except ValueError:
        by_id = None
    rows = await (
        await db.execute("SELECT id, external_id FROM readmodel.post WHERE id = %s OR url = %s", (by_id, url_or_id))
    ).fetchall()
    if by_id is not None:
        return by_id, tuple(external_id for _, external_id in rows)
    if not rows:
        raise click.ClickException("no post has this address; copy it from the post's page here, or give the post's id")
    if len(rows) != 1:
        ids = ", ".join(str(id_) for id_, _ in rows)
        raise click.ClickException(f"{len(rows)} posts have this address; give the id of one: {ids}")
    ((id_, external_id),) = rows
    return id_, (external_id,)
