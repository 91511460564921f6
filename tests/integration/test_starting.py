"""A start against given servers ends soon and with one line, whatever is wrong with them; a stop is always heard."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from kit.embedded import EmbeddedStack
from kit.embedded.programs import find_postgres_bin
from kit.operator_errors import explain
from kit.servers_in_use import find_servers
from kit.settings import Infrastructure, load
from services.commands.process import Plan, assemble
from tests.e2e.posts import BATS, on_wikipedia
from tests.support.extension_client import Extension
from tests.support.servers import Servers, nats_server
from tests.support.sites import Sites
from tests.support.system import ROOT, GivenServers, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("starting")]

CLOSED = "127.0.0.1:9"
"""Nobody listens there."""


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Sound servers, as an operator gives them."""
    with GivenServers(tmp_path_factory.mktemp("given")) as servers:
        yield servers.settings | {"OPENERRATA_MODEL": "demo"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ready(given: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    """Servers on which everything could start."""
    async with system(tmp_path_factory.mktemp("ready"), **given) as run:
        assert (await run.run("topology", "apply")).code == 0
        assert (await run.run("keys", "list")).code == 0
        yield run


def renamed(url: str, database: str) -> str:
    """The same server, another database."""
    return make_url(url).set(database=database).render_as_string(hide_password=False)


Change = Callable[[str], str]
WRONG: dict[str, tuple[str, Change, str]] = {
    "no broker": ("NATS_URL", lambda _: f"nats://{CLOSED}", "OPENERRATA_NATS_URL: no broker answers at 127.0.0.1:9"),
    "no address of a broker": ("NATS_URL", lambda _: "nats://:port", "OPENERRATA_NATS_URL"),
    "another password of the broker": ("NATS_URL", lambda url: url.replace("@", "no@"), "refuses the connection"),
    "no monitor": ("NATS_MONITOR_URL", lambda _: f"http://{CLOSED}", "OPENERRATA_NATS_MONITOR_URL"),
    "no address of a monitor": ("NATS_MONITOR_URL", lambda _: "nowhere", "OPENERRATA_NATS_MONITOR_URL"),
    "no database server": ("DATABASE_URL", lambda _: f"postgresql://u:p@{CLOSED}/n", "OPENERRATA_DATABASE_URL: conn"),
    "no database": ("DATABASE_URL", lambda url: renamed(url, "nowhere"), 'database "nowhere" does not exist'),
    "no address of a database": ("DATABASE_URL", lambda _: "nowhere", "OPENERRATA_DATABASE_URL must be an address"),
    "another kind of database": ("DATABASE_URL", lambda _: "mysql://u:p@h/x", "OPENERRATA_DATABASE_URL must be an"),
    "no blob store": ("S3_ENDPOINT", lambda _: f"http://{CLOSED}", "no blob store answers at 127.0.0.1:9"),
    "no bucket": ("S3_BUCKET", lambda _: "nothing-in-it", "OPENERRATA_S3_BUCKET: there is no bucket 'nothing-in-it'"),
    "another key of the blob store": ("S3_SECRET_KEY", lambda _: "another", "OPENERRATA_S3_SECRET_KEY"),
    "no address for readers": ("GATEWAY_PUBLIC_URL", lambda _: "", "OPENERRATA_GATEWAY_PUBLIC_URL is not set"),
    "no address to listen on": ("GATEWAY_HOST", lambda _: "no-such-host.invalid", "OPENERRATA_GATEWAY_HOST"),
    "an address of another machine": ("GATEWAY_HOST", lambda _: "192.0.2.1", "cannot listen on 192.0.2.1"),
    "too many copies": ("NATS_REPLICAS", lambda _: "3", "topology apply"),
}


@pytest.mark.requirement("2.9-13")
@pytest.mark.parametrize("case", WRONG)
async def test_what_is_wrong_with_the_surroundings_is_said_in_one_line(
    ready: System, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.9-13: Blob storage mandatory."""
    name, change, words = WRONG[case]
    variable = f"OPENERRATA_{name}"
    changed = {**ready.settings, variable: change(ready.settings.get(variable, "")), "OPENERRATA_GATEWAY_PORT": "0"}
    for each, value in changed.items():
        monkeypatch.setenv(each, value)
    exporter = None
    try:
        with find_servers(load(Infrastructure), ready.data_dir, start=False) as found:
            async with assemble(Plan(("gateway",)), found):
                pass
    except Exception as error:
        exporter = explain(error) or f"a bug: {error!r}"
    assert exporter is not None, "it started"
    assert words in exporter
    assert "\n" not in exporter


async def test_commands_end_with_that_line(ready: System) -> None:
    no_broker = await ready.run("topology", "apply", OPENERRATA_NATS_URL=f"nats://user:secret@{CLOSED}")
    line = no_broker.err.splitlines()[-1]
    assert (no_broker.code, line.partition(";")[0]) == (
        1,
        "Error: OPENERRATA_NATS_URL: no broker answers at 127.0.0.1:9: Connection refused",
    )
    assert "Traceback" not in no_broker.err
    assert "secret" not in no_broker.err


async def test_a_broker_that_is_slow_to_start_is_waited_for(given: dict[str, str], tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path / "broker", services=("nats",))
    address = stack.start().nats_url
    stack.stop()
    tried = asyncio.Event()

    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        tried.set()

    at = make_url(address)
    assert at.port is not None
    not_yet = await asyncio.start_server(refuse, at.host, at.port)
    async with system(tmp_path / "system", **(given | {"OPENERRATA_NATS_URL": address})) as waiting:
        applying = asyncio.create_task(waiting.run("topology", "apply", "--wait", "60"))
        async with asyncio.timeout(60):
            await tried.wait()
        not_yet.close()
        await not_yet.wait_closed()
        try:
            assert stack.start().nats_url == address
            applied = await applying
        finally:
            stack.stop()
        assert applied.code == 0, applied.err
        assert "ERRATA" in applied.out
        gone = await waiting.run("topology", "apply", "--wait", "0.1")
        assert (gone.code, "no broker answers" in gone.err) == (1, True)


async def test_a_database_user_without_rights_is_told_who_can_give_them(ready: System, stack: Servers) -> None:
    with stack.database(None) as url:
        at = make_url(url)
        admin = at.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        try:
            plain = at.set(username="plain", password="plain").render_as_string(hide_password=False)
            refused = await ready.run("keys", "list", OPENERRATA_DATABASE_URL=plain)
            psql = [str(find_postgres_bin() / "psql"), "-v", "login=plain", "-v", "ON_ERROR_STOP=1"]
            script = [*psql, "-f", str(ROOT / "deploy" / "roles.sql"), admin]
            await asyncio.to_thread(subprocess.run, script, check=True, capture_output=True)
            granted = await ready.run("keys", "list", OPENERRATA_DATABASE_URL=plain)
        finally:
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute("DROP OWNED BY plain CASCADE")
                connection.execute("DROP ROLE plain")
    assert (refused.code, len(refused.err.splitlines())) == (1, 1), refused.err
    assert "deploy/roles.sql" in refused.err
    assert granted.code == 0, granted.err


async def test_a_stop_is_heard_while_a_server_is_waited_for(ready: System) -> None:
    waiting = ready.spawn("gateway", name="waiting", settings={"OPENERRATA_NATS_URL": f"nats://{CLOSED}"})

    async def trying() -> bool:
        return any(line["event"] == "no broker yet, trying again" for line in waiting.lines())

    await until(trying, "it tries to reach the broker", within_s=60)
    waiting.send(signal.SIGTERM)
    assert await waiting.ended(within_s=60) == 0, waiting.tail()


async def test_at_a_stop_nobody_new_is_let_in_and_who_is_in_gets_an_answer(ready: System) -> None:
    """The gateway stops first; whoever its readers wait for goes on until they have their answers."""
    async with Sites() as sites:
        article = on_wikipedia(sites, BATS, title="At the guarded client")
        running = await ready.up(
            name="stopping", settings={"OPENERRATA_VERIFIER_WIKIPEDIA_URL": f"{sites.url}/w/api.php"}
        )
        sites.fail("slow")
        async with Extension(running.url) as reader, httpx.AsyncClient(trust_env=False) as late:
            registering = asyncio.create_task(reader.register(article.observation))
            await sites.seen(1, within_s=60)
            running.send(signal.SIGTERM)

            async def closed() -> bool:
                try:
                    await late.get(f"{running.url}/health")
                except httpx.TransportError:
                    return True
                return False

            await until(closed, "nobody new is let in")
            assert running.alive
            assert not registering.done()
            sites.heal()
            assert (await registering)["provenance"] == "SERVER_VERIFIED"
        assert await running.ended() == 0


async def test_no_proxy_sees_the_address_of_the_monitor(ready: System, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ready.settings, "HTTP_PROXY": f"http://{CLOSED}", "http_proxy": f"http://{CLOSED}"}.items():
        monkeypatch.setenv(name, value)
    with find_servers(load(Infrastructure), ready.data_dir, start=False) as found:
        async with assemble(Plan(("selector",)), found) as host:
            assert host.bus.client.is_connected


async def test_the_doctor_looks_at_everything_else_when_the_broker_is_down(ready: System) -> None:
    visit = await ready.run("doctor", OPENERRATA_NATS_URL=f"nats://{CLOSED}", OPENERRATA_S3_BUCKET="nothing-in-it")
    found = {line[4:].split()[0]: line for line in visit.out.splitlines() if line.startswith(("ok ", "BAD "))}
    assert visit.code == 1
    assert "no broker answers at 127.0.0.1:9: Connection refused" in found["broker"]
    assert "there is no bucket 'nothing-in-it'" in found["blobs"]
    assert found["database"].startswith("ok ")
    assert found["model"].startswith("ok ")
    assert visit.err == ""


async def test_a_key_keeps_its_holder(ready: System) -> None:
    nameless = await ready.run("keys", "add", " ")
    assert nameless.code == 2
    assert "NAME" in nameless.err
    assert (await ready.run("keys", "add", "alice", "--key", "k-1")).code == 0
    assert (await ready.run("keys", "add", "alice", "--key", "k-1")).code == 0, "it may be said twice"
    taken = await ready.run("keys", "add", "bob", "--key", "k-1")
    assert (taken.code, taken.out) == (1, "")
    assert "alice" in taken.err
    assert (await ready.run("keys", "revoke", "k-1")).code == 0
    assert (await ready.run("keys", "add", "bob", "--key", "k-1")).code == 0
    listed = await ready.run("keys", "list")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["bob"]


async def test_an_empty_broker_is_no_riddle(ready: System, tmp_path: Path) -> None:
    with nats_server(tmp_path) as empty:
        asked = await ready.run("investigation", "show", str(UUID(int=1)), OPENERRATA_NATS_URL=empty.endpoints.nats_url)
    assert asked.code == 1
    assert asked.err.splitlines() == ["Error: the log does not answer; if it stays so, run `openerrata topology apply`"]


async def test_a_service_alone_may_be_the_first_over_a_data_folder(tmp_path: Path) -> None:
    """It comes to the broker as a user who may not create streams; its process may, and owns the servers."""
    with find_servers(Infrastructure(model="demo"), tmp_path / "data", durable=False) as found:
        async with assemble(Plan(("ingest",), unsafe_broker=True), found) as host:
            assert not await host.problems()
