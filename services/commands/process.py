"""One process with the requested services, connected to running servers."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import click
import structlog

from contracts.access import ACCESS, REQUESTER
from contracts.broker_rights import inbox
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
from kit.model_settings import OpenAISettings
from kit.models.base import Model
from kit.models.choice import choose
from kit.ops import LagGauges, operations
from kit.servers_in_use import Servers
from kit.settings import Infrastructure, SettingsError, load
from kit.telemetry import Telemetry
from kit.tracing import make_spans
from kit.vault import UserKeys

SERVICES = (
    "verifier",
    "ingest",
    "selector",
    "investigator",
    "validator",
    "auditor",
    "curator",
    "projector",
    "notary",
    "gateway",
)
"""In the order of the pipeline; the gateway starts last, so that requests arrive only when they can be handled."""

BLOB_TIMEOUT_S = 600.0
"""Workers outlast an outage of the blob store, so that the result of a paid run is not lost."""

STORAGE_CHECK_S = 2.0
FAILURES_BEFORE_RESTART = 3
"""Failed writes in a row."""

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """The services of a process."""

    services: tuple[str, ...]
    unsafe_broker: bool = False

    @property
    def roles(self) -> tuple[Role, ...]:
        """The database roles that these services use."""
        found: dict[Role, None] = {role: None for name in self.services if (role := ACCESS[name].database)}
        return tuple(found)

    @property
    def inbox_owner(self) -> str:
        """The service whose replies come to this process: the gateway's inbox has a fixed name."""
        return REQUESTER if REQUESTER in self.services else self.services[0]

    @property
    def servers(self) -> tuple[ServiceName, ...]:
        """The servers that these services need."""
        return ("nats", "s3", "postgres") if self.roles else ("nats", "s3")

    @property
    def opens_user_keys(self) -> bool:
        """Whether one of them encrypts or decrypts readers' own keys."""
        return any(ACCESS[name].reader_keys for name in self.services)

    @property
    def spends_money(self) -> bool:
        """Whether one of them spends the instance's own money."""
        return any(ACCESS[name].provider_keys for name in self.services)


@asynccontextmanager
async def assemble(plan: Plan, found: Servers, *, model: Model | None = None) -> AsyncIterator[Host]:
    """Connect, check the requirements, and build the services without starting them. `model` overrides the settings.

    Raises: SettingsError, TopologyMissing, UnsafeBroker: with instructions for the operator.
    """
    infrastructure = load(Infrastructure)
    model = model or choose(
        infrastructure, load(OpenAISettings), embedded=found.embedded, keys_needed=plan.spends_money
    )
    if found.owner_url is not None and (found.embedded or "projector" in plan.services):
        await migrate(found.database_url)
    master_keys = found.master_keys if plan.opens_user_keys else ()
    logins = {role: found.database_login(role) for role in plan.roles}
    for role, url in logins.items():
        await require_least_privilege(url, role)
        if not await is_current(url, role):
            raise SettingsError("the database is not migrated yet: run `openerrata projector migrate` as its owner")
    async with AsyncExitStack() as stack:
        connecting = connect(
            found.broker(plan.services), name=f"openerrata {' '.join(plan.services)}", inbox=inbox(plan.inbox_owner)
        )
        if found.stack is not None:
            await _apply_topology(found, infrastructure)
        bus = await stack.enter_async_context(connecting)
        await topology.require(bus, replicas=infrastructure.nats_replicas, ack_wait_s=infrastructure.ack_wait_s)
        if not plan.unsafe_broker:
            await topology.require_durable(bus, found.nats_monitor_url)
        telemetry = Telemetry()
        exporter = make_spans(f"openerrata {' '.join(plan.services)}")
        if exporter is not None:
            stack.push_async_callback(asyncio.to_thread, exporter.close)
        blobs = Blobs(found.blobs, patience_s=BLOB_TIMEOUT_S)
        host = Host(
            bus=bus,
            delivery=Delivery(
                bus,
                telemetry,
                ack_wait_s=infrastructure.ack_wait_s,
                limit=_stop_limit(infrastructure),
                spans=exporter,
                store_answer=blobs.store_answer,
            ),
            blobs=blobs,
            clock=SystemClock(),
            telemetry=telemetry,
            database_url=found.owner_url or "",
            model=model,
            user_keys=UserKeys(bus, master_keys),
            master_keys=master_keys,
            spans=exporter,
            logins=logins,
            servers_given=found.data_dir is None,
            data_folder=found.data_dir,
        )
        stack.push_async_callback(host.close)
        await host.blobs.require()
        await _register_checks(host, plan.roles)
        readable = {stream for name in plan.services for stream in ACCESS[name].log}
        host.keep_running("lag", LagGauges(host, readable, found.stack.data_dir if found.stack else None).run)
        checks: dict[ServiceName, Callable[[], Awaitable[str | None]]] = {
            "nats": bus.writes.refusal,
            "s3": host.blobs.problem,
        }
        if found.stack is not None:
            for embedded in found.stack.services & checks.keys():
                host.keep_running(
                    f"{embedded} disk", partial(restart_when_stuck, found.stack, embedded, checks[embedded])
                )
        for name in plan.services:
            await importlib.import_module(f"services.{name}.app").build(host)
            telemetry.service.labels(name).set(1)
        if infrastructure.ops_port is not None:
            address = bind(infrastructure.ops_host, infrastructure.ops_port, given_by="OPENERRATA_OPS_HOST and _PORT")
            server = HttpServer(operations(host), address)
            await server.start()
            stack.push_async_callback(server.stop)
            log.info("operations", url=server.url)
        if model.labelled_demo and {"investigator", "validator"} & set(plan.services):
            log.warning("demo model: answers come from a small offline catalogue, not from a model")
        yield host


async def run_until_signalled(plan: Plan, found: Servers) -> None:
    """Run until SIGTERM or Ctrl-C; a second signal ends the process at once."""
    stop = asyncio.Event()
    listen_for_signals(stop)
    async with AsyncExitStack() as stack:
        host = await await_unless_stopped(stop, stack.enter_async_context(assemble(plan, found)))
        if host is None:
            return
        watcher = asyncio.create_task(watch(found.stack, stop))
        log.info("running", services=list(plan.services), worker=host.worker, gateway=host.public_url or None)
        try:
            await host.run(stop)
        finally:
            watcher.cancel()
    raise_if_ended(watcher)


async def await_unless_stopped(stop: asyncio.Event, starting: Awaitable[T]) -> T | None:
    """The result of `starting`, or None if `stop` is set first: a start that waits for a server can be interrupted."""
    try:
        async with asyncio.timeout(None) as timeout:

            async def listen() -> None:
                await stop.wait()
                timeout.reschedule(asyncio.get_running_loop().time())

            listening = asyncio.create_task(listen())
            try:
                return await starting
            finally:
                listening.cancel()
    except TimeoutError:
        if not timeout.expired():
            raise
        return None


async def watch(stack: EmbeddedStack | None, stop: asyncio.Event) -> None:
    """Stop the process when an embedded server ends by itself."""
    if stack is None:
        return
    error = await stack.watch()
    stop.set()
    raise error


def raise_if_ended(watcher: asyncio.Task[None]) -> None:
    """Raises: click.ClickException: `watch` ended, because a server did."""
    if watcher.done() and not watcher.cancelled() and watcher.exception() is not None:
        raise click.ClickException(str(watcher.exception()))


async def restart_when_stuck(
    stack: EmbeddedStack, name: ServiceName, check: Callable[[], Awaitable[str | None]]
) -> None:
    """Restart an embedded server that fails to write although its disk has space, as it may after a full disk."""
    failed = 0
    while True:
        await asyncio.sleep(STORAGE_CHECK_S)
        problem = await check()
        failed = failed + 1 if problem else 0
        if failed >= FAILURES_BEFORE_RESTART and stack.has_space:
            log.warning("restarting an embedded server", server=name, reason=problem)
            await stack.restart(name)
            failed = 0


def listen_for_signals(stop: asyncio.Event) -> None:
    """Set `stop` at the first SIGTERM or Ctrl-C, and end the process at the second."""

    def handle() -> None:
        if stop.is_set():
            os._exit(130)
        if sys.stderr.isatty():
            click.echo("stopping after the current work (repeat to stop at once)", err=True)
        else:
            log.info("stopping after the current work")
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle)


def order_services(names: Sequence[str]) -> tuple[str, ...]:
    """Service names in the order of the pipeline; all of them if none is given."""
    return tuple(name for name in SERVICES if name in names) if names else SERVICES


async def _apply_topology(found: Servers, infrastructure: Infrastructure) -> None:
    async with connect(found.nats_url, name="openerrata topology") as bus:  # the user of a service may not
        await topology.apply(bus, replicas=infrastructure.nats_replicas, ack_wait_s=infrastructure.ack_wait_s)


def _stop_limit(infrastructure: Infrastructure) -> StopLimit:
    return StopLimit(
        dead_letters=infrastructure.stop_letters,
        within_s=infrastructure.stop_within_s,
        pause_s=infrastructure.stop_pause_s,
    )


async def _register_checks(host: Host, roles: Sequence[Role]) -> None:
    async def database() -> str | None:
        for role in roles:
            database = host.database(role)
            if role == "projector":  # only a write notices a full disk
                await database.write()
            else:
                async with database.connect() as connection:
                    await connection.exec_driver_sql("select 1")
        return None

    host.check("broker", host.bus.writes.problem)
    if roles:
        host.check("database", database)
    host.check("blobs", host.blobs.problem)
