"""Accounts of the job API as an operator makes, changes and closes them, and what services may read of them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import click
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from contracts.v1.ids import entry_id
from kit import dump
from kit.clock import SystemClock
from kit.database import Database, open_session
from kit.vault import KeyUnusable, MasterKey, unseal
from services.commands.account_rows import (
    AccountRow,
    add_account,
    change_account,
    close_account,
    list_accounts,
    read_activity,
    rotate_secret,
)
from services.commands.keys import activate
from services.gateway.adapters import SqlKeyRegister
from services.gateway.keys import InstanceKeys
from tests.integration.readmodel_tables import NoTexts, everything, fill, store_at
from tests.support.forked import Forked
from tests.support.gateway import migrated
from tests.support.servers import Prepare, Servers
from tests.unit.projector.audit_histories import Instance, claim_id_of, write
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

KEY = "oe_the-key-of-alice"
HASH = sha256(KEY.encode()).hexdigest()


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def operator(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, role="operator")
    yield database
    await database.close()


@pytest.fixture
async def reader(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, role="reader")
    yield database
    await database.close()


async def alice(operator: Database) -> AccountRow:
    """An account with one key, as `list_accounts` shows it."""
    await add_account(operator, "alice", "Alice@Example.org", "reader", "free", None)
    await activate(operator, "alice's laptop", KEY, rights=("audit",), username="alice")
    (row,) = await list_accounts(operator, every=False)
    return row


@pytest.mark.requirement("FH-166")
async def test_an_account_is_what_the_operator_made_it(operator: Database) -> None:
    """FH-166: Accounts are made by the operator (`openerrata accounts`); there is no sign-up route."""
    made = await alice(operator)
    assert (made.username, made.email, made.role, made.tier, made.agreed) == (
        "alice",
        "alice@example.org",
        "reader",
        "free",
        None,
    )
    await change_account(operator, "alice", role="moderator")
    await change_account(operator, "alice", tier="enterprise", credit_limit_micro_usd=200_000_000)
    (changed,) = await list_accounts(operator, every=False)
    assert (changed.role, changed.tier, changed.agreed) == ("moderator", "enterprise", 200_000_000)


@pytest.mark.parametrize(("name", "email"), [("alice", "else@example.org"), ("bob", "ALICE@example.org")])
async def test_names_and_mail_addresses_are_one_accounts_only(operator: Database, name: str, email: str) -> None:
    await alice(operator)
    with pytest.raises(click.ClickException, match="name" if name == "alice" else "mail address"):
        await add_account(operator, name, email, "reader", "free", None)


async def test_a_key_knows_its_account_and_rights(operator: Database, reader: Database) -> None:
    made = await alice(operator)
    await activate(operator, "somebody", "oe_without-an-account")
    keys = InstanceKeys(SqlKeyRegister(reader), SystemClock(), fresh_s=0, denied_s=0)
    principal = await keys.principal(HASH)
    assert principal is not None
    assert (principal.account.account_id, principal.account.role, principal.account.tier) == (made.id, "reader", "free")
    assert principal.rights == {"audit"}
    plain = sha256(b"oe_without-an-account").hexdigest()
    assert await keys.principal(plain) is None
    assert await keys.rights(plain) == {"investigate", "corroborate"}


async def test_a_key_that_is_in_use_stays_its_holders(operator: Database, reader: Database) -> None:
    await alice(operator)
    assert await activate(operator, "the reading club", "oe_guessed") == "the reading club"
    given = await activate(operator, "alice", "oe_guessed", rights=("audit",), username="alice")
    assert given == "the reading club"
    with pytest.raises(click.ClickException, match="revoke it first"):
        await activate(operator, "the reading club", "oe_guessed", rights=("audit",), username="alice")
    keys = InstanceKeys(SqlKeyRegister(reader), SystemClock(), fresh_s=0, denied_s=0)
    assert await keys.rights(sha256(b"oe_guessed").hexdigest()) == {"investigate", "corroborate"}


async def test_a_closed_account_opens_nothing_and_its_name_stays_taken(operator: Database, reader: Database) -> None:
    await alice(operator)
    await rotate_secret(operator, "alice", MasterKey.generate(), "whsec_one")
    await activate(operator, "the reading club", "oe_of-somebody-else")
    assert await close_account(operator, "alice", erase=False) == 1
    others = sha256(b"oe_of-somebody-else").hexdigest()
    assert await InstanceKeys(SqlKeyRegister(reader), SystemClock(), fresh_s=0, denied_s=0).rights(others)
    assert await InstanceKeys(SqlKeyRegister(reader), SystemClock(), fresh_s=0, denied_s=0).principal(HASH) is None
    (closed,) = await list_accounts(operator, every=True)
    assert (closed.email, closed.has_webhook_secret) == (None, False)
    assert await list_accounts(operator, every=False) == []
    with pytest.raises(click.ClickException, match="name"):
        await add_account(operator, "alice", None, "reader", "free", None)
    with pytest.raises(click.ClickException, match="no open account"):
        await activate(operator, "another", "oe_another", rights=("audit",), username="alice")


async def test_an_erased_account_leaves_no_row(operator: Database) -> None:
    await alice(operator)
    assert await close_account(operator, "alice", erase=True) == 1
    assert await list_accounts(operator, every=True) == []
    async with operator.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM instance_api_key"))).scalar_one() == 0


async def test_two_webhook_secrets_are_valid_while_they_are_rotated(operator: Database) -> None:
    made, master = await alice(operator), MasterKey.generate()
    for secret in ("whsec_one", "whsec_two", "whsec_three"):
        await rotate_secret(operator, "alice", master, secret)
    assert await _secrets(operator, master, made) == ["whsec_three", "whsec_two"]
    await rotate_secret(operator, "alice", master, None)
    assert await _secrets(operator, master, made) == ["whsec_three"]
    (row,) = await list_accounts(operator, every=False)
    assert row.has_webhook_secret


async def test_ending_a_rotation_needs_a_secret(operator: Database) -> None:
    await alice(operator)
    with pytest.raises(click.ClickException, match="no webhook secret"):
        await rotate_secret(operator, "alice", MasterKey.generate(), None)


async def _secrets(operator: Database, master: MasterKey, owner: AccountRow) -> list[str]:
    async with operator.connect() as connection:
        sealed = (await connection.execute(text("SELECT webhook_secrets FROM account"))).scalar_one()
    with pytest.raises(KeyUnusable):
        unseal((master,), bytes(16), sealed[0])
    assert all(b"whsec" not in each for each in sealed)
    return [unseal((master,), owner.id.bytes, each) for each in sealed]


@pytest.mark.parametrize("column", ["username", "email", "webhook_secrets", "*"])
async def test_services_read_no_name_no_address_and_no_secret(reader: Database, column: str) -> None:
    async with reader.connect() as connection:
        with pytest.raises(ProgrammingError) as refused:
            await connection.execute(text(f"SELECT {column} FROM account"))
    assert isinstance(refused.value.orig, psycopg.errors.InsufficientPrivilege)


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE operator.account SET role = 'king'", "account_role_check"),
        ("UPDATE operator.account SET tier = 'gold'", "account_tier_check"),
        ("UPDATE operator.account SET credit_limit_micro_usd = -1", "account_credit_limit_micro_usd_check"),
        ("UPDATE operator.account SET webhook_secrets = '{a,b,c}'", "account_webhook_secrets_check"),
        ("UPDATE operator.instance_api_key SET rights = '{}'", "instance_api_key_rights_check"),
        ("UPDATE operator.instance_api_key SET rights = '{rule}'", "instance_api_key_rights_check"),
        ("UPDATE operator.instance_api_key SET account_id = NULL", "instance_api_key_account_check"),
    ],
)
async def test_rules_that_rows_keep(operator: Database, database_url: str, statement: str, constraint: str) -> None:
    await alice(operator)
    async with await open_session(database_url) as owner:
        with pytest.raises(psycopg.IntegrityError) as refused:
            await owner.execute(statement.encode())
    assert refused.value.diag.constraint_name == constraint


async def test_accounts_come_back_from_a_backup(
    operator: Database, database_url: str, stack: Servers, tmp_path: Path
) -> None:
    made, master = await alice(operator), MasterKey.generate()
    await rotate_secret(operator, "alice", master, "whsec_one")
    columns = await dump.save(database_url, tmp_path)
    with stack.database(migrated) as url:
        await dump.load(url, tmp_path, columns)
        restored = Database(url, role="operator")
        assert await list_accounts(restored, every=True) == [replace(made, has_webhook_secret=True)]
        assert await _secrets(restored, master, made) == ["whsec_one"]
        keys = InstanceKeys(SqlKeyRegister(Database(url, role="reader")), SystemClock(), fresh_s=0, denied_s=0)
        assert await keys.principal(HASH) is not None
        await restored.close()


@pytest.mark.requirement("FH-166", "FH-38")
def test_an_operator_manages_accounts_by_commands(database_url: str, tmp_path: Path) -> None:
    """FH-166: Accounts are made by the operator (`openerrata accounts`); there is no sign-up route.
    FH-38: Tiers as in C.2; pro and enterprise exist and are not sold yet.

    FH-38: Tiers limit the monthly credit, the free one hard.
    """
    environment = {
        "OPENERRATA_DATABASE_URL": database_url,
        "OPENERRATA_NATS_URL": "nats://127.0.0.1:9",
        "OPENERRATA_S3_ENDPOINT": "http://127.0.0.1:9",
        "OPENERRATA_S3_ACCESS_KEY": "none",
        "OPENERRATA_S3_SECRET_KEY": "none",
        "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
    }

    def run(*arguments: str) -> tuple[int, str]:
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        process = Forked(arguments, tmp_path, environment, out, out)
        code = process.wait(60)
        return code, out.read_text().strip()

    assert run("accounts", "list")[1].startswith("no accounts")
    assert run("accounts", "add", "alice", "--email", "alice@example.org")[0] == 0
    assert run("accounts", "add", "Alice")[0] == 2
    assert run("accounts", "add", "bob", "--tier", "gold")[0] == 2
    assert run("accounts", "add", "bob", "--tier", "enterprise", "--credit-limit", "12.5000001")[0] == 2
    assert run("accounts", "tier", "alice", "enterprise", "--credit-limit=-1")[0] == 2
    assert run("accounts", "tier", "alice", "pro") == (0, "alice is pro")
    assert "$50.00" in run("accounts", "list")[1]
    assert run("accounts", "tier", "alice", "enterprise", "--credit-limit", "12.50")[0] == 0
    assert run("accounts", "role", "alice", "moderator") == (0, "alice is moderator")
    listed = run("accounts", "list")[1].splitlines()[1].split()
    shown = run("accounts", "show", "alice")[1]
    assert "moderator, enterprise" in shown
    assert "flags          0, 0 accepted" in shown
    assert run("accounts", "show", "nobody")[0] == 1
    assert listed[:6] == ["alice", "alice@example.org", "moderator", "enterprise", "$12.50", "no"]
    code, secret = run("accounts", "webhook-secret", "alice")
    assert (code, len(b64decode(secret.removeprefix("whsec_")))) == (0, 32)
    assert run("accounts", "webhook-secret", "alice", "--end-rotation")[0] == 0
    assert run("keys", "add", "laptop", "--right", "audit")[0] == 2
    assert run("keys", "add", "laptop", "--right", "audit", "--account", "bob")[0] == 1
    assert run("keys", "add", "laptop", "--right", "audit", "--account", "alice", "--key", KEY) == (0, KEY)
    assert run("keys", "list")[1].endswith("audit  of alice")
    assert run("accounts", "close", "alice") == (0, "closed alice; keys revoked: 1")
    assert run("keys", "list")[1].startswith("no keys")
    assert run("accounts", "role", "alice", "admin")[0] == 1
    assert run("accounts", "close", "alice", "--erase") == (0, "erased alice; keys revoked: 0")
    assert run("accounts", "list", "--all")[1].startswith("no accounts")


@pytest.mark.requirement("FH-114", "FH-120")
async def test_what_an_account_did_is_counted(database_url: str, operator: Database) -> None:
    """FH-114: A user has name, role and counts

    FH-120: Sources, users, metrics and patterns have no versions
    """
    made = await alice(operator)
    instance = Instance()
    for account, jobs in ((made.id, 2), (uid("somebody"), 1)):
        for number in range(jobs):
            for event in instance.whole(uid(f"job {number} of {account}"), account, ("Ships sail.",)):
                instance.publish(event)
    instance.publish(instance.entry("Ships sail."))
    ships = entry_id(claim_id_of("Ships sail."))
    instance.publish(instance.edited(ships, "Ships sail on.").model_copy(update={"by": made.id}))
    for account in (made.id, made.id, uid("somebody")):
        instance.publish(flag := instance.flagged(ships, account))
    instance.publish(instance.resolved_flag(flag))
    before = await read_activity(operator, "alice")
    assert (before.jobs, before.contributions, before.flags_submitted, before.last_active) == (0, 0, 0, None)
    instance.publish(own := instance.flagged(ships, made.id))
    instance.publish(instance.resolved_flag(own))
    write(instance)
    store = store_at(database_url, texts=NoTexts(**instance.tape.words))
    await fill(store, instance.tape.records)
    await store.close()
    it = await read_activity(operator, "alice")
    assert (it.username, it.email, it.role, it.tier) == ("alice", "alice@example.org", "reader", "free")
    assert (it.jobs, it.contributions, it.flags_submitted, it.flags_accepted) == (2, 1, 3, 1)
    assert it.last_active == instance.now.date()
    assert [each["entity_type"] for each in (await everything(database_url))["edit"]] == ["ENTRY"]
    with pytest.raises(click.ClickException, match="no account"):
        await read_activity(operator, "nobody")
