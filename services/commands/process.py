"""One process: the services it was asked for, over servers that already run."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import click
import structlog

from contracts.access import ACCESS, WAITS, inbox
from kit import topology
from kit.blobs import Blobs
from kit.bus import connect
from kit.circuit import StopLimit
from kit.clock import SystemClock
from kit.database import Role, is_current, migrate, require_least_privilege
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack, ServiceName
from kit.host import Host
from kit.http import HttpServer, bind
from kit.models.base import Model
from kit.models.choice import choose
from kit.ops import Lag, operations
from kit.settings import Infrastructure, OpenAISettings, SettingsError, load
from kit.surroundings import Surroundings
from kit.telemetry import Telemetry
from kit.tracing import spans
from kit.vault import UserKeys

SERVICES = ("verifier", "ingest", "selector", "investigator", "validator", "projector", "gateway")
"""In the order of the path; the gateway is last, so that nobody is let in before there is somebody to answer."""

BLOB_PATIENCE_S = 600.0
"""Workers wait out an outage of the blob store, because a run that paid for its result must not lose it."""

REOPEN_EVERY_S = 2.0
REOPEN_AFTER = 3
"""So many failed writes in a row."""

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What a process shall do."""

    services: tuple[str, ...]
    unsafe_broker: bool = False

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the database that these services log in as."""
        found: dict[Role, None] = {role: None for name in self.services if (role := ACCESS[name].database)}
        return tuple(found)

    @property
    def waits(self) -> str:
        """Whose answers come to this process: services know the gateway's inbox, wherever it runs."""
        return WAITS if WAITS in self.services else self.services[0]

    @property
    def servers(self) -> tuple[ServiceName, ...]:
        """The servers that these services need."""
        return ("nats", "s3", "postgres") if self.roles else ("nats", "s3")

    @property
    def seals(self) -> bool:
        """Whether one of them seals or opens readers' own keys."""
        return any(ACCESS[name].reader_keys for name in self.services)

    @property
    def pays(self) -> bool:
        """Whether one of them spends the instance's own money."""
        return any(ACCESS[name].provider_keys for name in self.services)


@asynccontextmanager
async def assembled(plan: Plan, found: Surroundings, *, model: Model | None = None) -> AsyncIterator[Host]:
    """Connect, check what must hold, and build the services; nothing runs yet. `model` replaces the settings' one.

    Raises: SettingsError, TopologyMissing, UnsafeBroker: with what to do about it.
    """
    infrastructure = load(Infrastructure)
    model = model or choose(infrastructure, load(OpenAISettings), embedded=found.embedded, keys_needed=plan.pays)
    if found.owner_url is not None and (found.embedded or "projector" in plan.services):
        await migrate(found.database_url)
    master_keys = found.master_keys if plan.seals else ()
    logins = {role: found.database_login(role) for role in plan.roles}
    for role, url in logins.items():
        await require_least_privilege(url, role)
        if not await is_current(url):
            raise SettingsError("the database is not migrated yet: run `openerrata projector migrate` as its owner")
    async with AsyncExitStack() as stack:
        connecting = connect(
            found.broker(plan.services), name=f"openerrata {' '.join(plan.services)}", inbox=inbox(plan.waits)
        )
        bus = await stack.enter_async_context(connecting)
        if found.stack is not None:
            await topology.apply(bus, replicas=infrastructure.nats_replicas, ack_wait_s=infrastructure.ack_wait_s)
        await topology.require(bus, replicas=infrastructure.nats_replicas, ack_wait_s=infrastructure.ack_wait_s)
        if not plan.unsafe_broker:
            await topology.require_durable(bus, found.nats_monitor_url)
        telemetry = Telemetry()
        told = spans(f"openerrata {' '.join(plan.services)}")
        if told is not None:
            stack.push_async_callback(asyncio.to_thread, told.close)
        blobs = Blobs(found.blobs, patience_s=BLOB_PATIENCE_S)
        host = Host(
            bus=bus,
            delivery=Delivery(
                bus,
                telemetry,
                ack_wait_s=infrastructure.ack_wait_s,
                limit=_stop_limit(infrastructure),
                spans=told,
                keep=blobs.keep,
            ),
            blobs=blobs,
            clock=SystemClock(),
            telemetry=telemetry,
            database_url=found.owner_url or "",
            model=model,
            user_keys=UserKeys(bus, master_keys),
            spans=told,
            logins=logins,
            servers_given=found.data_dir is None,
            data_folder=found.data_dir,
        )
        stack.push_async_callback(host.close)
        await host.blobs.require()
        await _checks(host, plan.roles)
        host.keep_running("lag", Lag(host, found.stack.data_dir if found.stack else None).run)
        checks: dict[ServiceName, Callable[[], Awaitable[str | None]]] = {
            "nats": bus.writes.refusal,
            "s3": host.blobs.problem,
        }
        if found.stack is not None:
            for embedded in found.stack.services & checks.keys():
                host.keep_running(f"{embedded} disk", partial(reopen, found.stack, embedded, checks[embedded]))
        for name in plan.services:
            await importlib.import_module(f"services.{name}.app").build(host)
            telemetry.service.labels(name).set(1)
        if infrastructure.ops_port is not None:
            at = bind(infrastructure.ops_host, infrastructure.ops_port, given_by="OPENERRATA_OPS_HOST and _PORT")
            server = HttpServer(operations(host), at)
            await server.start()
            stack.push_async_callback(server.stop)
            log.info("operations", url=server.url)
        if model.labelled_demo and {"investigator", "validator"} & set(plan.services):
            log.warning("demo model: answers come from a small offline catalogue, not from a model")
        yield host


async def run_until_signalled(plan: Plan, found: Surroundings) -> None:
    """Run until SIGTERM or Ctrl-C; a second one ends the process at once."""
    stop = asyncio.Event()
    listen_for_signals(stop)
    async with AsyncExitStack() as stack:
        host = await unless_stopped(stop, stack.enter_async_context(assembled(plan, found)))
        if host is None:
            return
        watcher = asyncio.create_task(watch(found.stack, stop))
        log.info("running", services=list(plan.services), worker=host.worker, gateway=host.public_url or None)
        try:
            await host.run(stop)
        finally:
            watcher.cancel()
    if watcher.done() and not watcher.cancelled() and watcher.exception() is not None:
        raise click.ClickException(str(watcher.exception()))


async def unless_stopped(stop: asyncio.Event, starting: Awaitable[T]) -> T | None:
    """What comes of `starting`, or None if `stop` is set before: nobody waits for a start that waits for a server."""
    try:
        async with asyncio.timeout(None) as patience:

            async def listen() -> None:
                await stop.wait()
                patience.reschedule(asyncio.get_running_loop().time())

            listening = asyncio.create_task(listen())
            try:
                return await starting
            finally:
                listening.cancel()
    except TimeoutError:
        if not patience.expired():
            raise
        return None


async def watch(stack: EmbeddedStack | None, stop: asyncio.Event) -> None:
    """Stop the process when an embedded server ends by itself."""
    if stack is None:
        return
    error = await stack.watch()
    stop.set()
    raise error


async def reopen(stack: EmbeddedStack, name: ServiceName, check: Callable[[], Awaitable[str | None]]) -> None:
    """Restart an embedded server when it stores nothing although its disk has space: a full disk may leave it so."""
    failed = 0
    while True:
        await asyncio.sleep(REOPEN_EVERY_S)
        problem = await check()
        failed = failed + 1 if problem else 0
        if failed >= REOPEN_AFTER and stack.has_room:
            log.warning("restarting an embedded server", server=name, reason=problem)
            await stack.restart(name)
            failed = 0


def listen_for_signals(stop: asyncio.Event) -> None:
    """Let SIGTERM and Ctrl-C set `stop` once, and end the process the second time."""

    def signalled() -> None:
        if stop.is_set():
            os._exit(130)
        click.echo("stopping: finishing what is under way (again to stop at once)", err=True)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Service names in the order of the path; all of them if none is named."""
    return tuple(name for name in SERVICES if name in names) if names else SERVICES


def _stop_limit(infrastructure: Infrastructure) -> StopLimit:
    return StopLimit(
        letters=infrastructure.stop_letters,
        within_s=infrastructure.stop_within_s,
        pause_s=infrastructure.stop_pause_s,
    )


async def _checks(host: Host, roles: Sequence[Role]) -> None:
    async def broker() -> str | None:
        return await host.bus.writes.problem()

    async def database() -> str | None:
        for role in roles:
            database = host.database(role)
            if role == "projector":  # who may only read cannot see that the disk is full
                await database.write()
            else:
                async with database.connect() as connection:
                    await connection.exec_driver_sql("select 1")
        return None

    host.check("broker", broker)
    if roles:
        host.check("database", database)
    host.check("blobs", host.blobs.problem)
