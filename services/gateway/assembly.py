"""Assembles the gateway from its ports: builds each endpoint with its dependencies and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import CollectorRegistry

from kit.clock import Clock
from kit.vault import MasterKey
from services.gateway.callers import Callers
from services.gateway.cors import Cors
from services.gateway.desk.actions import Actions
from services.gateway.desk.pages import Pages
from services.gateway.desk.ports import DeskReads
from services.gateway.desk.routes import Desk
from services.gateway.domain import RetryRules
from services.gateway.extension.hints import Hints
from services.gateway.extension.intake import Intake
from services.gateway.extension.investigate import Requests
from services.gateway.extension.observe import Registration
from services.gateway.extension.own_key_runs import OwnKeyRuns
from services.gateway.extension.procedures import procedures
from services.gateway.extension.status import Statuses, Viewing
from services.gateway.http import BodyTimeouts, Scope
from services.gateway.invalidation import CacheInvalidation
from services.gateway.jobs.rate_policies import RateLimit, RatePolicy
from services.gateway.jobs.routes import JobDependencies, JobsApi, Limits
from services.gateway.keys import InstanceKeys, KeyChecks
from services.gateway.labels import LabelsEndpoint, LabelSource
from services.gateway.metrics import Metrics
from services.gateway.ports import (
    Copies,
    Documents,
    Facts,
    HealthChecks,
    KeyProbe,
    KeyRegister,
    LookupObjects,
    Reads,
    Space,
    Texts,
    UserKeys,
)
from services.gateway.public.appeals import AppealsEndpoint
from services.gateway.public.decision_log import DecisionLogEndpoint
from services.gateway.public.graphql.execute import GraphQL
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.graphql.http import GraphQLEndpoint
from services.gateway.public.lookups import LookupEndpoint
from services.gateway.public.posted import PostedRequests
from services.gateway.public.procedures import PublicProcedures, public_procedures
from services.gateway.public.proofs import ProofsEndpoint
from services.gateway.public.site.copies import SourceArchive
from services.gateway.public.site.pages import Pages as PublicPages
from services.gateway.public.site.routes import Site
from services.gateway.public.stream.admission import Admission
from services.gateway.public.stream.endpoint import EventsEndpoint
from services.gateway.public.stream.feed import EventLog, Feed
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.repository import PublicRecord
from services.gateway.rpc import Rpc
from services.gateway.settings import GatewaySettings
from services.gateway.web import Gateway, shell


@dataclass(frozen=True)
class Dependencies:
    """What the gateway is assembled from; tests pass fakes."""

    reads: Reads
    documents: Documents
    record: PublicRecord
    graphql_record: PublicRecord
    facts: Facts
    events: EventLog
    texts: Texts
    copies: Copies
    lookups: LookupObjects
    user_keys: UserKeys
    key_probe: KeyProbe
    key_register: KeyRegister
    jobs: JobDependencies
    health: HealthChecks
    space: Space
    clock: Clock
    registry: CollectorRegistry
    desk: DeskReads
    master_keys: tuple[MasterKey, ...]
    labels: LabelSource | None = None


def assemble(settings: GatewaySettings, dependencies: Dependencies, *, catalogue: bool = False) -> Gateway:
    """Build the ASGI application. `catalogue`: claims have public pages."""
    clock, metrics = dependencies.clock, Metrics(dependencies.registry)
    registration = Registration(
        dependencies.reads,
        dependencies.facts,
        dependencies.texts,
        Intake(
            dependencies.space,
            clock,
            metrics,
            bytes_per_day=settings.new_bytes_per_day,
            free_bytes=settings.free_bytes,
        ),
        clock,
        cache_entries=settings.remember_observations,
        cache_ttl_s=settings.remember_observations_s,
    )
    key_checks = KeyChecks(
        dependencies.key_probe, clock, burst=settings.key_checks_burst, every_s=settings.key_checks_every_s
    )
    viewing = Viewing(
        dependencies.reads,
        dependencies.facts,
        clock,
        analysis=settings.analysis,
        cache_bytes=settings.remember_results_bytes,
    )
    statuses = Statuses(dependencies.reads, clock, cache_bytes=settings.remember_results_bytes)
    table = {
        **procedures(
            registration,
            viewing,
            statuses,
            Requests(
                dependencies.reads,
                dependencies.facts,
                dependencies.user_keys,
                clock,
                key_checks,
                OwnKeyRuns(dependencies.reads, clock, limit=settings.own_key_runs),
                analysis=settings.analysis,
                retries=RetryRules(timedelta(seconds=settings.retry_cooldown_s), settings.retries_per_day),
            ),
            key_checks,
            Hints(dependencies.reads, dependencies.facts, clock),
        ),
        **public_procedures(PublicProcedures(dependencies.graphql_record)),
    }
    keys = InstanceKeys(
        dependencies.key_register,
        clock,
        fresh_s=settings.instance_keys_fresh_s,
        denied_s=settings.instance_keys_denied_s,
    )
    callers = Callers(keys, trusted_proxies=settings.trusted_proxies, hmac_secret=settings.hmac_secret)
    body_timeouts = BodyTimeouts(settings.body_timeout_s, settings.body_silence_s)
    cors = Cors(settings.cors_origins.split(","))
    rpc = Rpc(table, callers, clock, metrics, cors, body_timeouts=body_timeouts)
    graphql = GraphQLEndpoint(GraphQL(RecordGraph(dependencies.graphql_record)), metrics, body_timeouts=body_timeouts)
    jobs = desk = None
    if settings.jobs:
        limits = Limits(
            jobs=RateLimit(RatePolicy.parse("jobs", settings.jobs_rate), clock),
            estimates=RateLimit(RatePolicy.parse("estimates", settings.estimates_rate), clock),
            reads=RateLimit(RatePolicy.parse("reads", settings.reads_rate), clock),
            rights=RateLimit(RatePolicy.parse("rights", settings.rights_rate), clock),
            changes=RateLimit(RatePolicy.parse("changes", settings.changes_rate), clock),
        )
        jobs = JobsApi(
            keys,
            dependencies.jobs,
            limits,
            clock,
            metrics,
            body_timeouts=body_timeouts,
            public_url=settings.public_url,
            catalogue=catalogue,
            address=callers.address,
        )
        if catalogue:
            desk = open_desk(settings, dependencies, jobs, keys, limits, callers.address, metrics, body_timeouts)
    described = shell(dependencies.documents, dependencies.health, clock, table, jobs, catalogue=catalogue)
    pages = PublicPages(dependencies.record, clock, described.openapi)
    site = Site(
        pages,
        SourceArchive(dependencies.record, dependencies.copies),
        public_url=settings.public_url,
        jobs=settings.jobs,
        catalogue=catalogue,
    )
    shown = site.router()
    described.router.routes += shown.routes  # no mount: that would answer for every path, whatever its method
    described.router.default = shown.default
    lookups = LookupEndpoint(dependencies.lookups, clock)
    invalidation = CacheInvalidation(
        dependencies.facts,
        (
            registration.clear_caches,
            viewing.clear_caches,
            statuses.clear_caches,
            pages.clear_caches,
            lookups.clear_caches,
        ),
    )
    feed = Feed(dependencies.events, heartbeat_s=settings.events_heartbeat_s, invalidated=invalidation.invalidate)
    admission = Admission(
        TokenBuckets(clock, burst=settings.events_connects_burst, every_s=settings.events_connects_every_s),
        clients=settings.events_clients,
        per_network=settings.events_clients_per_network,
    )
    events = EventsEndpoint(feed, admission, callers.address, dependencies.registry, stall_s=settings.events_stall_s)
    decision_log = DecisionLogEndpoint(dependencies.record, clock)
    posted = PostedRequests(clock, callers.address, body_timeouts)
    appeals = AppealsEndpoint(dependencies.record, dependencies.facts, clock, posted)
    proofs = ProofsEndpoint(dependencies.record, dependencies.facts, clock, posted)
    labels = None
    if dependencies.labels is not None:
        labels = LabelsEndpoint(
            dependencies.labels,
            dependencies.record,
            Admission(
                TokenBuckets(clock, burst=settings.events_connects_burst, every_s=settings.events_connects_every_s),
                clients=settings.events_clients,
                per_network=settings.events_clients_per_network,
            ),
            callers.address,
            clock,
            stall_s=settings.events_stall_s,
        )
    return Gateway(
        rpc,
        graphql,
        events,
        feed,
        invalidation,
        described,
        jobs,
        labels,
        decision_log=decision_log,
        lookups=lookups,
        appeals=appeals,
        proofs=proofs,
        desk=desk,
        catalogue=catalogue,
    )


def open_desk(
    settings: GatewaySettings,
    dependencies: Dependencies,
    jobs: JobsApi,
    keys: InstanceKeys,
    limits: Limits,
    address: Callable[[Scope], str],
    metrics: Metrics,
    body_timeouts: BodyTimeouts,
) -> Desk:
    """Build the desk, which shares the job API's dependencies and limits."""
    return Desk(
        keys,
        dependencies.master_keys,
        Pages(dependencies.desk, dependencies.jobs.catalogue, jobs.reading, jobs.ledger, dependencies.jobs.stages),
        Actions(jobs.entries),
        limits.reads,
        limits.changes,
        address,
        dependencies.clock,
        metrics,
        body_timeouts=body_timeouts,
        public_url=settings.public_url,
    )
