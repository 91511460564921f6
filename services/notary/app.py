"""Builds the notary."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import httpx
import structlog

from kit.blobs import BlobsUnavailable
from kit.clock import Clock
from kit.host import Host
from kit.sessions import SuccessiveSessions
from kit.settings import load
from services.notary.adapters import BlobLookups, BlobObjects, NotaryMetrics
from services.notary.cosigning import Witnesses
from services.notary.domain import LogForked, LogNotOpened, OtherKeySigns
from services.notary.lookup.building import LookupBuilder
from services.notary.publishing import Publisher
from services.notary.settings import Identity, NotarySettings
from services.notary.store import LogStore
from tlog.errors import TlogError
from tlog.policy import NONE

POLL_S: Final = 1.0
SESSION_OPTIONS: Final = (
    "-c synchronous_commit=on -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
)
"""What is signed must outlast a crash of the database, and the lock must end with the machine that holds it."""

log = structlog.get_logger(__name__)


class Notary:
    """Enters decisions, and publishes them at intervals."""

    def __init__(
        self,
        store: LogStore,
        publisher: Publisher,
        lookups: LookupBuilder,
        identity: Identity,
        settings: NotarySettings,
        metrics: NotaryMetrics,
        clock: Clock,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._lookups = lookups
        self._identity = identity
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._problem: str | None = None
        self._waits_for = ""

    async def problem(self) -> str | None:
        """Why nothing is signed, if the key, or what was published or witnessed, forbids it."""
        return self._problem

    async def run(self) -> None:
        """Keep the log until cancelled; of several processes one does, the others stand by."""
        try:
            while not await self._store.claim():  # noqa: ASYNC110 (another process holds it)
                await asyncio.sleep(POLL_S)
            while not await self._is_open():  # noqa: ASYNC110 (the operator opens it)
                await asyncio.sleep(POLL_S)
            due = self._clock.monotonic()
            while True:
                entered = await self._store.enter(self._settings.batch)
                self._metrics.leaves.inc(entered.leaves)
                if self._clock.monotonic() >= due:
                    due = self._clock.monotonic() + self._settings.publish_s
                    try:
                        await self._publish()
                        await self._lookups.publish(await self._store.session())
                    except BlobsUnavailable as error:
                        log.warning("nothing is published, decisions are entered meanwhile", reason=str(error))
                if entered.facts < self._settings.batch:
                    await asyncio.sleep(POLL_S)
        finally:
            await self._store.close()

    async def _is_open(self) -> bool:
        try:
            await self._store.open(str(self._identity.key.verifier), bytes(self._identity.policy).decode())
        except LogNotOpened as error:
            if self._waits_for != str(error):
                log.warning("waiting", reason=str(error))
            self._waits_for = str(error)
            return False
        except OtherKeySigns as error:
            self._refuse(error)
            return False
        return True

    async def _publish(self) -> None:
        try:
            await self._store.require_key(str(self._identity.key.verifier))  # an operator may have changed it
            size = await self._publisher.publish()
        except (OtherKeySigns, LogForked, TlogError) as error:
            self._refuse(error)
            return
        self._metrics.forked.set(0)
        self._problem = None
        if size is not None:
            self._metrics.size.set(size)
            self._metrics.published_at.set(self._clock.now().timestamp())

    def _refuse(self, error: Exception) -> None:
        self._metrics.forked.set(1)
        if self._problem != str(error):
            log.error("nothing is signed", reason=str(error))
        self._problem = str(error)


async def build(host: Host) -> None:
    """Keep the decision log while the host runs, if there is a key to sign it with."""
    settings, metrics = load(NotarySettings), NotaryMetrics(host.telemetry.registry)
    identity = Identity.of(settings)
    if identity is None:
        log.info("no decision log: OPENERRATA_NOTARY_KEY is not set")
        return
    blobs = host.blobs.impatient()
    objects = BlobObjects(blobs)
    sessions = SuccessiveSessions(partial(host.database("notary").session, options=SESSION_OPTIONS))
    store = LogStore(sessions, identity.key.name, objects.read_leaf)
    http = httpx.AsyncClient(headers={"user-agent": f"OpenErrata/1.0 (+{settings.contact_url})"}, trust_env=False)
    host.on_close(http.aclose)
    witnesses = Witnesses.of(store, identity.policy.witnesses, http, host.clock)
    publisher = Publisher(store, objects, identity.keys, identity.policy, witnesses.cosign, host.clock)
    lookups = LookupBuilder(BlobLookups(blobs), store, metrics, host.clock, is_witnessed=identity.policy.quorum != NONE)
    notary = Notary(store, publisher, lookups, identity, settings, metrics, host.clock)
    host.check("decision log", notary.problem)
    host.keep_running("notary", notary.run)
