"""The gateway, put together: the only file that knows which classes stand behind the ports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import CollectorRegistry

from kit.host import Host
from kit.http import HttpServer, bind
from kit.positions import Positions
from kit.settings import SettingsError, load
from services.gateway.adapters import BlobCopies, BlobTexts, BusEvents, BusFacts, ModelProbe, SealedKeys, ServerSpace
from services.gateway.callers import Callers
from services.gateway.cors import Cors
from services.gateway.domain import RetryRules
from services.gateway.forgetting import Forgetting
from services.gateway.graphql.archive import Archive
from services.gateway.graphql.execute import GraphQL
from services.gateway.graphql.http import GraphQLEndpoint
from services.gateway.http import BodyTimeouts
from services.gateway.intake import Intake
from services.gateway.investigate import Requests
from services.gateway.keys import InstanceKeys, KeyChecks
from services.gateway.memory import Allowance
from services.gateway.metrics import Metrics
from services.gateway.observe import Registration
from services.gateway.ports import Clock, Copies, Facts, KeyProbe, KeyRegister, Reads, Space, Texts, UserKeys, Vitals
from services.gateway.procedures import procedures, public_procedures
from services.gateway.reads import SqlKeyRegister, SqlReads
from services.gateway.record import PublicRecord
from services.gateway.rpc import Rpc
from services.gateway.settings import GatewaySettings
from services.gateway.site.copies import Archived
from services.gateway.site.pages import Pages
from services.gateway.site.reads import Shelf
from services.gateway.site.routes import Site
from services.gateway.status import Statuses, Viewing
from services.gateway.stream.admission import Admission
from services.gateway.stream.endpoint import EventsEndpoint
from services.gateway.stream.feed import EventLog, Feed
from services.gateway.underway import OwnKeyRuns
from services.gateway.vitals import ServerVitals
from services.gateway.web import Gateway, shell


@dataclass(frozen=True)
class World:
    """Everything the gateway reaches, real or, in a test, not."""

    reads: Reads
    public_reads: Reads
    archive: Archive
    shelf: Shelf
    facts: Facts
    events: EventLog
    texts: Texts
    copies: Copies
    user_keys: UserKeys
    key_probe: KeyProbe
    key_register: KeyRegister
    vitals: Vitals
    space: Space
    clock: Clock
    registry: CollectorRegistry


def assemble(settings: GatewaySettings, world: World) -> Gateway:
    """The ASGI application over a world."""
    clock, metrics = world.clock, Metrics(world.registry)
    registration = Registration(
        world.reads,
        world.facts,
        world.texts,
        Intake(
            world.space,
            clock,
            metrics,
            bytes_per_day=settings.new_bytes_per_day,
            free_bytes=settings.free_bytes,
        ),
        clock,
        remember=settings.remember_observations,
        remember_s=settings.remember_observations_s,
    )
    key_checks = KeyChecks(world.key_probe, clock, burst=settings.key_checks_burst, every_s=settings.key_checks_every_s)
    viewing = Viewing(
        world.reads,
        world.facts,
        clock,
        analysis=settings.analysis,
        remember_bytes=settings.remember_results_bytes,
    )
    table = {
        **procedures(
            registration,
            viewing,
            Statuses(world.reads),
            Requests(
                world.reads,
                world.facts,
                world.user_keys,
                clock,
                key_checks,
                OwnKeyRuns(world.reads, clock, most=settings.own_key_runs),
                analysis=settings.analysis,
                retries=RetryRules(timedelta(seconds=settings.retry_cooldown_s), settings.retries_per_day),
            ),
            key_checks,
        ),
        **public_procedures(PublicRecord(world.archive)),
    }
    keys = InstanceKeys(
        world.key_register, clock, fresh_s=settings.instance_keys_fresh_s, denied_s=settings.instance_keys_denied_s
    )
    callers = Callers(keys, trusted_proxies=settings.trusted_proxies, hmac_secret=settings.hmac_secret)
    body_timeouts = BodyTimeouts(settings.body_timeout_s, settings.body_silence_s)
    cors = Cors(settings.cors_origins.split(","))
    rpc = Rpc(table, callers, clock, metrics, cors, body_timeouts=body_timeouts)
    graphql = GraphQLEndpoint(GraphQL(world.archive), metrics, body_timeouts=body_timeouts)
    described = shell(world.public_reads, world.vitals, clock, table)
    pages = Pages(world.shelf, clock, described.openapi)
    site = Site(pages, Archived(world.shelf, world.copies), public_url=settings.public_url)
    described.mount("/", site.router())
    forgetting = Forgetting(world.facts, (registration.forget, viewing.forget, pages.forget))
    feed = Feed(world.events, heartbeat_s=settings.events_heartbeat_s, erased=forgetting.erased)
    admission = Admission(
        Allowance(clock, burst=settings.events_connects_burst, every_s=settings.events_connects_every_s),
        clients=settings.events_clients,
        per_network=settings.events_clients_per_network,
    )
    events = EventsEndpoint(feed, admission, callers.address, world.registry, stall_s=settings.events_stall_s)
    return Gateway(rpc, graphql, events, feed, forgetting, described)


async def build(host: Host, settings: GatewaySettings | None = None) -> HttpServer:
    """Take the port and serve until the host stops.

    Raises: kit.http.CannotListen. SettingsError: nothing says where readers reach it.
    """
    settings = settings or load(GatewaySettings)
    if host.servers_given and not settings.public_url:
        raise SettingsError(
            "OPENERRATA_GATEWAY_PUBLIC_URL is not set: feeds and links need the address where readers reach the gateway"
        )
    database = host.database("reader", "procedures", pool_size=settings.database_connections)
    wait_s = settings.page_wait_s
    pages = host.database("reader", "pages", pool_size=settings.page_connections, wait_s=wait_s)
    graphql = host.database("reader", "graphql", pool_size=settings.graphql_connections, wait_s=wait_s)
    reads = SqlReads(database, analysis=settings.analysis)
    positions = Positions(host.bus, reads.position)
    await positions.open()
    vitals = ServerVitals(host.bus, reads, host.blobs)
    facts = BusFacts(
        host.bus,
        positions,
        answer_timeout_s=settings.observe_timeout_s,
        catch_up_timeout_s=settings.catch_up_timeout_s,
    )
    gateway = assemble(
        settings,
        World(
            reads=reads,
            public_reads=SqlReads(pages, analysis=settings.analysis),
            archive=Archive(graphql),
            shelf=Shelf(pages),
            facts=facts,
            events=BusEvents(host.bus),
            texts=BlobTexts(host.blobs),
            copies=BlobCopies(host.blobs),
            user_keys=SealedKeys(host.user_keys),
            key_probe=ModelProbe(host.model),
            key_register=SqlKeyRegister(database),
            vitals=vitals,
            space=ServerSpace(host.bus, host.data_folder),
            clock=host.clock,
            registry=host.telemetry.registry,
        ),
    )
    server = HttpServer(
        gateway,
        bind(settings.host, settings.port, given_by="--port and OPENERRATA_GATEWAY_HOST"),
        connections=settings.connections,
        header_timeout_s=settings.header_timeout_s,
    )
    await server.start()
    host.public_url = host.public_url or server.url
    host.check("gateway-http", server.problem)
    host.on_stop(server.stop)
    host.on_stop(gateway.events.stop)  # first: the server waits for requests under way, and these have no end
    host.keep_running("gateway-events", gateway.feed.run)
    host.keep_running("gateway-standstill", vitals.standstill.watch)
    host.keep_running("gateway-forgetting", gateway.forgetting.run)
    return server
