"""`openerrata keys`: instance API keys, whose holders may spend the instance's money. Only hashes are stored."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import click
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert

from contracts.accounts import RIGHTS, WITHOUT_ACCOUNT, Right
from contracts.readmodel.accounts import account, instance_api_key
from kit.clock import SystemClock
from kit.database import Database
from kit.vault import MasterKey
from services.commands.database import run_as_operator
from services.commands.shared import Group, handle_errors, on_servers


class Row(NamedTuple):
    """One key, as `keys list` shows it."""

    name: str
    key_hash: str
    rights: Sequence[str]
    account: str | None
    created_at: datetime
    revoked_at: datetime | None


@click.group(cls=Group)
def command() -> None:
    """Manage instance API keys: their holders spend this instance's money.

    A key without an account is for readers: its holder investigates at this instance's expense, and their views
    corroborate. A key of an account with the right `audit` opens the job API, at the expense of the account's credit.

    \b
    openerrata keys add "the reading club"
    openerrata keys add "alice's laptop" --account alice --right audit
    openerrata keys revoke "the reading club"
    """


@command.command()
@click.argument("name")
@click.option("--key", help="Use this key instead of a new random one.")
@click.option("--account", "username", help="The account it belongs to; see `openerrata accounts`.")
@click.option(
    "--right",
    "rights",
    type=click.Choice(RIGHTS),
    multiple=True,
    default=WITHOUT_ACCOUNT,
    show_default=True,
    help="What it may be used for; give it several times for several. `audit` needs an account.",
)
@on_servers
def add(name: str, key: str | None, username: str | None, rights: tuple[Right, ...], data_dir: Path) -> None:
    """Add a key. NAME identifies its holder; the key is printed once and never again."""
    if "audit" in rights and username is None:
        raise click.BadParameter(
            "`audit` needs --account: audits are paid from an account's credit", param_hint="--right"
        )
    chosen = (key if key is not None else f"oe_{secrets.token_urlsafe(24)}").strip()
    if not chosen:
        raise click.BadParameter("a key cannot be blank", param_hint="--key")
    name = name.strip()
    if not name:
        raise click.BadParameter("a name cannot be blank: it identifies the holder", param_hint="NAME")
    holder = run_as_operator(
        data_dir, lambda database: activate(database, name, chosen, rights=rights, username=username)
    )
    if holder != name:
        raise click.ClickException(f"this key is {holder!r}'s; revoke it first to give it to another")
    click.echo(chosen)


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Revoked keys too.")
@on_servers
def list_(every: bool, data_dir: Path) -> None:
    """List keys by name; the keys themselves are not stored."""
    rows = run_as_operator(data_dir, lambda database: _list(database, every))
    for row in rows:
        state = f"revoked {row.revoked_at:%Y-%m-%d %H:%M}" if row.revoked_at else "active"
        owner = f"  of {row.account}" if row.account else ""
        added = f"added {row.created_at:%Y-%m-%d %H:%M}"
        click.echo(f"{row.name:<24} {row.key_hash[:12]}…  {added}  {state}  {','.join(row.rights)}{owner}")
    if not rows:
        click.echo("no keys; add one with `openerrata keys add NAME`", err=True)


@command.command()
@click.argument("name_or_key")
@on_servers
def revoke(name_or_key: str, data_dir: Path) -> None:
    """Revoke a key; NAME_OR_KEY is the key or its name. Takes effect within seconds."""
    count = run_as_operator(data_dir, lambda database: _revoke(database, name_or_key))
    if not count:
        raise click.ClickException(f"no active key {name_or_key!r}; see `openerrata keys list`")
    click.echo(f"revoked {count}")


@command.command()
@handle_errors
def master() -> None:
    """Print a new master key for OPENERRATA_ENCRYPTION_KEYS (the first seals; others, after commas, only open)."""
    click.echo(str(MasterKey.generate()))


def hash_key(key: str) -> str:
    """Hash a key as it is stored. Source: docs/protocol.md 4."""
    return sha256(key.strip().encode()).hexdigest()


async def activate(
    database: Database,
    name: str,
    key: str,
    *,
    rights: Sequence[Right] = WITHOUT_ACCOUNT,
    username: str | None = None,
) -> str:
    """Store a key's hash, or reactivate a revoked one; returns its holder's name, another one if the key is in use.

    Raises: click.ClickException: there is no open account of this name, or the holder has it with other rights or for
    another account.
    """
    clock = SystemClock()
    now = clock.now()
    t = instance_api_key.c
    async with database.transaction() as connection:
        owner = None
        if username is not None:
            open_account = select(account.c.id).where(account.c.username == username, account.c.closed_at.is_(None))
            owner = (await connection.execute(open_account.with_for_update(read=True))).scalar()
            if owner is None:
                raise click.ClickException(f"there is no open account {username!r}; see `openerrata accounts list`")
        granted = {"name": name, "revoked_at": None, "updated_at": now, "account_id": owner, "rights": list(rights)}
        row = insert(instance_api_key).values(id=clock.new_id(), key_hash=hash_key(key), created_at=now, **granted)
        await connection.execute(
            row.on_conflict_do_update(index_elements=["key_hash"], set_=granted, where=t.revoked_at.is_not(None))
        )
        found = await connection.execute(select(t.name, t.account_id, t.rights).where(t.key_hash == hash_key(key)))
        held = found.one()
        if held.name == name and (held.account_id, set(held.rights)) != (owner, set(rights)):
            raise click.ClickException("this key is in use for something else; revoke it first to change that")
        return str(held.name)


async def _list(database: Database, every: bool) -> list[Row]:
    t = instance_api_key.c
    query = (
        select(t.name, t.key_hash, t.rights, account.c.username, t.created_at, t.revoked_at)
        .join(account, account.c.id == t.account_id, isouter=True)
        .order_by(t.created_at)
    )
    async with database.connect() as connection:
        rows = (await connection.execute(query if every else query.where(t.revoked_at.is_(None)))).all()
    return [Row(*row) for row in rows]


async def _revoke(database: Database, name_or_key: str) -> int:
    t = instance_api_key.c
    now = SystemClock().now()
    async with database.transaction() as connection:
        result = await connection.execute(
            update(instance_api_key)
            .where((t.name == name_or_key) | (t.key_hash == hash_key(name_or_key)), t.revoked_at.is_(None))
            .values(revoked_at=now, updated_at=now)
        )
    return result.rowcount
