"""What a service's connection to the database can do is what its role was granted, whatever statements it sends."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from sqlalchemy import make_url

from contracts.access import ACCESS
from kit import topology
from kit.bus import connect
from kit.database import ROLES, Database, Role, migrate, open_session, require_least_privilege, role_url
from kit.embedded import EmbeddedStack
from kit.embedded.programs import find_postgres_bin
from kit.host import Host
from kit.servers_in_use import find_servers
from kit.settings import Infrastructure, SettingsError, load
from services.commands.process import SERVICES, Plan, assemble
from tests.support.servers import Servers
from tests.support.system import ROOT, GivenServers

Start = Callable[..., AbstractAsyncContextManager[Host]]

pytest_plugins = ["tests.support.servers"]

ESCAPES = (
    "SELECT 1",
    "SET ROLE NONE",
    "RESET ROLE",
    "RESET ALL",
    "RESET SESSION AUTHORIZATION",
    "SET SESSION AUTHORIZATION DEFAULT",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE postgres",
    "SET ROLE errata_reader",
    "SET ROLE errata_projector",
    "SET ROLE errata_operator",
    "SET ROLE errata_curator",
    "SET ROLE errata_notary",
    "DISCARD ALL",
)
BEYOND: dict[str, str] = {
    "a schema": "CREATE SCHEMA mine",
    "a table in the read model": "CREATE TABLE readmodel.mine (id int)",
    "a table in the ledger": "CREATE TABLE ledger.mine (id int)",
    "a table in public": "CREATE TABLE public.mine (id int)",
    "a function": "CREATE FUNCTION readmodel.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "a role": "CREATE ROLE mine SUPERUSER",
    "rights of its own": "ALTER ROLE CURRENT_USER SUPERUSER",
    "another's password": "ALTER ROLE postgres PASSWORD 'mine'",
    "an extension": "CREATE EXTENSION dblink",
    "a setting of the server": "SET log_statement = 'all'",
    "a file of the server": "SELECT pg_read_file('postgresql.conf')",
    "a program of the server": "COPY (SELECT 1) TO PROGRAM 'true'",
    "a large object": "SELECT lo_create(0)",
    "the ledger emptied": "TRUNCATE ledger.fact",
    "a fact removed": "DELETE FROM ledger.fact",
    "a fact altered": "UPDATE ledger.fact SET hash = ''",
    "the ledger's guard off": "ALTER TABLE ledger.fact DISABLE TRIGGER ALL",
    "a leaf altered": "UPDATE log.leaf SET data = ''",
    "a leaf removed": "DELETE FROM log.leaf",
    "the log's guard off": "ALTER TABLE log.leaf DISABLE TRIGGER ALL",
    "a revision forged": "UPDATE ledger.alembic_version SET version_num = 'x'",
    "passwords of the server": "SELECT rolpassword FROM pg_authid",
}
"""What no service may do at all."""
OWN: dict[Role, dict[str, str]] = {
    "reader": {
        "reading keys' hashes": "SELECT key_hash FROM operator.instance_api_key",
        "reading tiers": "SELECT id, role, tier, credit_limit_micro_usd FROM operator.account",
    },
    "projector": {
        "a temporary table": "CREATE TEMPORARY TABLE mine (id int)",
        "the read model": "UPDATE readmodel.position SET sequence = sequence",
        "a fact": "INSERT INTO ledger.fact SELECT * FROM ledger.fact WHERE false",
    },
    "operator": {
        "reading keys' hashes": "SELECT key_hash FROM operator.instance_api_key",
        "reading tiers": "SELECT id, role, tier, credit_limit_micro_usd FROM operator.account",
        "who has an account": "SELECT username, email FROM operator.account",
        "webhook secrets": "SELECT webhook_secrets FROM operator.account",
        "a key": "UPDATE operator.instance_api_key SET name = name",
        "an account": "UPDATE operator.account SET role = role",
        "an account's end": "DELETE FROM operator.account",
    },
    "curator": {"webhook secrets": "SELECT webhook_secrets FROM operator.account"},
    "notary": {
        "a leaf": "INSERT INTO log.leaf SELECT * FROM log.leaf WHERE false",
        "a note": "INSERT INTO log.checkpoint SELECT * FROM log.checkpoint WHERE false",
        "what was erased": "DELETE FROM log.opening",
    },
}
"""What some may and the others may not."""


@pytest.fixture(scope="module")
def owner_url(stack: Servers) -> Iterator[str]:
    """A database that was migrated in its place: a copied one lacks the rights of the database itself."""
    with stack.database() as url:
        asyncio.run(migrate(url))
        yield url


async def outcome(session: psycopg.AsyncConnection[Any], statement: str) -> Literal["done", "refused"]:
    """Run a statement, and undo it."""
    try:
        async with session.transaction(force_rollback=True):
            await session.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return "refused"
    return "done"


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("role", ROLES)
async def test_nothing_that_a_service_sends_gets_it_further(owner_url: str, role: Role, escape: str) -> None:
    database = Database(role_url(owner_url, role), role=role)
    others = {what: sql for name in ROLES if name != role for what, sql in OWN[name].items() if what not in OWN[role]}
    async with await database.session() as session:
        with suppress(psycopg.errors.InsufficientPrivilege):
            await session.execute(escape.encode())
        done = {what for what, sql in (BEYOND | others).items() if await outcome(session, sql) == "done"}
        assert done == set()
        assert {what for what, sql in OWN[role].items() if await outcome(session, sql) == "refused"} == set()
    await database.close()


@pytest.mark.parametrize("role", ROLES)
async def test_a_login_that_could_become_more_is_refused(owner_url: str, role: Role) -> None:
    await require_least_privilege(role_url(owner_url, role), role)
    for other in (owner_url, *(role_url(owner_url, name) for name in ROLES if name != role)):
        with pytest.raises(SettingsError, match=f"OPENERRATA_DATABASE_{role.upper()}_URL"):
            await require_least_privilege(other, role)


async def test_the_administrators_script_gives_the_logins_their_passwords(owner_url: str) -> None:
    admin = make_url(owner_url).set(drivername="postgresql").render_as_string(hide_password=False)
    words = {
        "login": "postgres",
        "reader": "o'ne",
        "projector": "two",
        "operator": "three",
        "curator": "four",
        "notary": "5",
    }
    given = [word for name, value in words.items() for word in ("-v", f"{name}={value}")]
    script = str(ROOT / "deploy" / "roles.sql")
    psql = [str(find_postgres_bin() / "psql"), "-v", "ON_ERROR_STOP=1", *given, "-f", script, admin]
    done = await asyncio.to_thread(subprocess.run, psql, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    async with await open_session(owner_url) as session:
        found = await session.execute("SELECT count(rolpassword) FROM pg_authid WHERE rolname LIKE 'errata_%'")
        assert await found.fetchone() == (len(ROLES),)
        for role in ROLES:
            await session.execute(f"ALTER ROLE errata_{role} PASSWORD NULL".encode())


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with GivenServers(tmp_path_factory.mktemp("given")) as servers:
        asyncio.run(migrate(servers.settings["OPENERRATA_DATABASE_URL"]))
        yield servers.settings


@pytest.fixture
async def only(given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts one service with what its line of the table allows it, and nothing more."""
    async with connect(given["OPENERRATA_NATS_URL"], name="test") as bus:
        await topology.apply(bus)

    def settings(service: str) -> dict[str, str]:
        access = ACCESS[service]
        found = dict(given)
        owner, sealing = found.pop("OPENERRATA_DATABASE_URL"), found.pop("OPENERRATA_ENCRYPTION_KEYS")
        if access.database:
            found[f"OPENERRATA_DATABASE_{access.database.upper()}_URL"] = role_url(owner, access.database)
        if access.reader_keys:
            found["OPENERRATA_ENCRYPTION_KEYS"] = sealing
        if access.provider_keys:
            found["OPENAI_API_KEY"] = "sk-none"
        return found | {"OPENERRATA_GATEWAY_PORT": "0"}

    def start(service: str, without: str = "") -> AbstractAsyncContextManager[Host]:
        for name, value in settings(service).items():
            if name != without:
                monkeypatch.setenv(name, value)
        plan = Plan((service,))
        with find_servers(load(Infrastructure), tmp_path, start=False, needs=plan.servers) as found:
            return assemble(plan, found)

    return start


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_starts_with_its_own_secrets_alone(service: str, only: Start, given: dict[str, str]) -> None:
    async with only(service) as host:
        assert await host.problems() == {}
        async with await open_session(given["OPENERRATA_DATABASE_URL"]) as owner:
            found = await owner.execute(
                """SELECT DISTINCT usename FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND usename <> 'postgres'"""
            )
            role = ACCESS[service].database
            assert await found.fetchall() == ([(f"errata_{role}",)] if role else [])


@pytest.mark.parametrize("service", [name for name in SERVICES if ACCESS[name].reader_keys])
async def test_who_seals_or_opens_readers_keys_needs_the_master_key(service: str, only: Start) -> None:
    with pytest.raises(SettingsError, match="OPENERRATA_ENCRYPTION_KEYS is not set"):
        async with only(service, without="OPENERRATA_ENCRYPTION_KEYS"):
            pass


@pytest.mark.parametrize("service", [name for name in SERVICES if ACCESS[name].provider_keys])
async def test_who_spends_the_instances_money_needs_its_key(service: str, only: Start) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY is not set"):
        async with only(service, without="OPENAI_API_KEY"):
            pass


async def test_embedded_services_log_in_as_their_roles(tmp_path: Path) -> None:
    with EmbeddedStack(tmp_path / "data", durable=False, services=("postgres",)) as server:
        await migrate(server.endpoints.database_url)
        for role in ROLES:
            await require_least_privilege(role_url(server.endpoints.database_url, role), role)
