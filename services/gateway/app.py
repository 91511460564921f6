"""Opens the gateway: the only file that knows which classes implement the ports."""

from __future__ import annotations

from kit.ephemeral import EphemeralTexts, TextBucket
from kit.host import Host
from kit.http import HttpServer, bind
from kit.model_settings import AuditSettings, ChatSettings, LlmSettings
from kit.positions import Positions
from kit.settings import DisplaySettings, LabelerSettings, SettingsError, load
from services.gateway.adapters import (
    BusEvents,
    BusFacts,
    BusLabels,
    GatewayBlobs,
    ModelProbe,
    SealedKeys,
    ServerSpace,
    SqlKeyRegister,
)
from services.gateway.assembly import Dependencies, assemble
from services.gateway.desk.adapters import SqlDesk
from services.gateway.health import ServerHealth
from services.gateway.jobs.adapters import BusJobLog, BusMemos, BusReceiptKeys, BusWords, SqlCatalogue
from services.gateway.jobs.routes import JobDependencies
from services.gateway.jobs.stages import StageSettings
from services.gateway.labels import Labeler, LabelSource
from services.gateway.public.documents import RecordDocuments
from services.gateway.public.stream.controls import WithoutControls
from services.gateway.record.repository import PublicRecord
from services.gateway.record.status import SqlReads
from services.gateway.settings import CatalogueSettings, GatewaySettings


def open_jobs(host: Host, settings: GatewaySettings, record: PublicRecord) -> JobDependencies:
    """Open the dependencies of the job API."""
    audits, jobs = load(AuditSettings), BusJobLog(host.bus)
    return JobDependencies(
        log=jobs,
        words=BusWords(EphemeralTexts(TextBucket(host.bus), host.clock)),
        memos=BusMemos(host.bus),
        keys=BusReceiptKeys(host.bus),
        catalogue=SqlCatalogue(record),
        stages=StageSettings(jobs, load(LlmSettings), load(ChatSettings).model_id, audits.prices),
        job_s=audits.job_s,
        heartbeat_s=settings.events_heartbeat_s,
        stall_s=settings.events_stall_s,
    )


async def build(host: Host, settings: GatewaySettings | None = None) -> HttpServer:
    """Bind the port and serve until the host stops.

    Raises: kit.http.CannotListen. SettingsError: the public URL is not set, or the labeler's settings are not valid.
    """
    settings = settings or load(GatewaySettings)
    if host.servers_given and not settings.public_url:
        raise SettingsError(
            "OPENERRATA_GATEWAY_PUBLIC_URL is not set: feeds and links need the address where readers reach the gateway"
        )
    labeler = Labeler.of(load(LabelerSettings))
    database = host.database("reader", "procedures", pool_size=settings.database_connections)
    wait_s = settings.page_wait_s
    pages = PublicRecord(host.database("reader", "pages", pool_size=settings.page_connections, wait_s=wait_s))
    graphql = host.database("reader", "graphql", pool_size=settings.graphql_connections, wait_s=wait_s)
    reads = SqlReads(database, analysis=settings.analysis, counts_pending=load(DisplaySettings).hold)
    positions = Positions(host.bus, reads.position)
    await positions.open()
    health = ServerHealth(host.bus, reads, host.blobs)
    blobs = GatewayBlobs(host.blobs)
    facts = BusFacts(
        host.bus,
        positions,
        answer_timeout_s=settings.observe_timeout_s,
        catch_up_timeout_s=settings.catch_up_timeout_s,
    )
    gateway = assemble(
        settings,
        Dependencies(
            reads=reads,
            documents=RecordDocuments(pages),
            record=pages,
            graphql_record=PublicRecord(graphql),
            facts=facts,
            events=WithoutControls(BusEvents(host.bus), pages),
            texts=blobs,
            copies=blobs,
            lookups=blobs,
            user_keys=SealedKeys(host.user_keys),
            key_probe=ModelProbe(host.model),
            key_register=SqlKeyRegister(database),
            jobs=open_jobs(host, settings, pages),
            health=health,
            space=ServerSpace(host.bus, host.data_folder),
            desk=SqlDesk(pages),
            master_keys=host.master_keys,
            clock=host.clock,
            registry=host.telemetry.registry,
            labels=None if labeler is None else LabelSource(labeler, BusLabels(host.bus)),
        ),
        catalogue=load(CatalogueSettings).catalogue,
    )
    server = HttpServer(
        gateway,
        bind(settings.host, settings.port, given_by="--port and OPENERRATA_GATEWAY_HOST"),
        connections=settings.connections,
        header_timeout_s=settings.header_timeout_s,
        websockets=gateway.labels is not None,
    )
    await server.start()
    host.public_url = host.public_url or server.url
    host.check("gateway-http", server.problem)
    host.on_stop(server.stop)
    host.on_stop(gateway.events.stop)  # before `server.stop`, which waits for open requests: streams never end
    if gateway.labels is not None:
        host.on_stop(gateway.labels.stop)
    if gateway.jobs is not None:
        host.on_stop(gateway.jobs.stop)
        host.keep_running("gateway-jobs", gateway.jobs.signals.run)
    host.keep_running("gateway-events", gateway.feed.run)
    host.keep_running("gateway-standstill", health.standstill.watch)
    host.keep_running("gateway-invalidation", gateway.invalidation.run)
    return server
