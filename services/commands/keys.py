"""`openerrata keys`: who may ask this instance to spend its own money. Only a key's hash is ever stored."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import click
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert

from contracts.readmodel import instance_api_key
from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.surroundings import Surroundings
from kit.vault import MasterKey
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers

T = TypeVar("T")

Row = tuple[str, str, datetime, datetime | None]


@click.group(cls=Group)
def command() -> None:
    """Manage instance API keys: their holders investigate at this instance's expense, and their views corroborate.

    \b
    openerrata keys add "the reading club"
    openerrata keys revoke "the reading club"
    """


@command.command()
@click.argument("name")
@click.option("--key", help="Use this key instead of a new random one.")
@data_dir_option
@plain_errors
def add(name: str, key: str | None, data_dir: Path) -> None:
    """Let the holder of a key in. NAME tells you later whose it is; the key is printed once and never again."""
    chosen = (key if key is not None else f"oe_{secrets.token_urlsafe(24)}").strip()
    if not chosen:
        raise click.BadParameter("a key cannot be blank", param_hint="--key")
    name = name.strip()
    if not name:
        raise click.BadParameter("a name cannot be blank: it tells whose key this is", param_hint="NAME")
    with servers(data_dir, quieter="warning") as found:
        holder = run(_with_database(found, lambda database: activate(database, name, chosen)))
    if holder != name:
        raise click.ClickException(f"this key is {holder!r}'s; revoke it first to give it to another")
    click.echo(chosen)


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Revoked keys too.")
@data_dir_option
@plain_errors
def list_(every: bool, data_dir: Path) -> None:
    """List keys by name; the keys themselves are not stored."""
    with servers(data_dir, quieter="warning") as found:
        rows = run(_with_database(found, lambda database: _list(database, every)))
    for name, key_hash, created_at, revoked_at in rows:
        state = f"revoked {revoked_at:%Y-%m-%d %H:%M}" if revoked_at else "active"
        click.echo(f"{name:<24} {key_hash[:12]}…  added {created_at:%Y-%m-%d %H:%M}  {state}")
    if not rows:
        click.echo("no keys; add one with `openerrata keys add NAME`", err=True)


@command.command()
@click.argument("name_or_key")
@data_dir_option
@plain_errors
def revoke(name_or_key: str, data_dir: Path) -> None:
    """Shut out the holder of a key; NAME_OR_KEY is the key or its name. Takes effect within seconds."""
    with servers(data_dir, quieter="warning") as found:
        count = run(_with_database(found, lambda database: _revoke(database, name_or_key)))
    if not count:
        raise click.ClickException(f"no active key {name_or_key!r}; see `openerrata keys list`")
    click.echo(f"revoked {count}")


@command.command()
@plain_errors
def master() -> None:
    """Print a new master key for OPENERRATA_ENCRYPTION_KEYS (newest first; older ones after a comma)."""
    click.echo(str(MasterKey.generate()))


def key_hash(key: str) -> str:
    """How a key is stored. Source: CONTRACT section 6.4."""
    return sha256(key.strip().encode()).hexdigest()


async def activate(database: Database, name: str, key: str) -> str:
    """Store a key's hash, or let a revoked one in again; the name of whose it is, which another's active key keeps."""
    clock = SystemClock()
    now = clock.now()
    row = insert(instance_api_key).values(
        id=clock.new_id(), name=name, key_hash=key_hash(key), created_at=now, updated_at=now, revoked_at=None
    )
    t = instance_api_key.c
    async with database.transaction() as connection:
        await connection.execute(
            row.on_conflict_do_update(
                index_elements=["key_hash"],
                set_={"name": name, "revoked_at": None, "updated_at": now},
                where=t.revoked_at.is_not(None),
            )
        )
        found = await connection.execute(select(t.name).where(t.key_hash == key_hash(key)))
        return str(found.scalar_one())


async def _list(database: Database, every: bool) -> list[Row]:
    t = instance_api_key.c
    query = select(t.name, t.key_hash, t.created_at, t.revoked_at).order_by(t.created_at)
    async with database.connect() as connection:
        rows = (await connection.execute(query if every else query.where(t.revoked_at.is_(None)))).all()
    return [(name, digest, added, revoked) for name, digest, added, revoked in rows]


async def _revoke(database: Database, name_or_key: str) -> int:
    t = instance_api_key.c
    now = SystemClock().now()
    async with database.transaction() as connection:
        result = await connection.execute(
            update(instance_api_key)
            .where((t.name == name_or_key) | (t.key_hash == key_hash(name_or_key)), t.revoked_at.is_(None))
            .values(revoked_at=now, updated_at=now)
        )
    return result.rowcount


async def _with_database(found: Surroundings, action: Callable[[Database], Awaitable[T]]) -> T:
    if found.owner_url is not None:
        await migrate(found.owner_url)
    database = Database(found.role_urls.get("operator") or found.database_url, role="operator")
    try:
        return await action(database)
    finally:
        await database.close()
