"""The desk over a read model, beside the public pages; what its forms change stays in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contracts.accounts import ROLES
from contracts.jobs.ids import format_job_id
from contracts.v1 import AppealOpened, EditMade
from kit.database import Database
from kit.http import HttpServer, bind
from kit.model_settings import LlmSettings
from kit.vault import MasterKey
from services.gateway.desk.actions import Actions
from services.gateway.desk.adapters import SqlDesk
from services.gateway.desk.pages import Pages
from services.gateway.desk.routes import PATH, Desk
from services.gateway.domain import Account
from services.gateway.http import BodyTimeouts, Receive, Scope, Send
from services.gateway.jobs.adapters import SqlCatalogue
from services.gateway.jobs.rate_policies import RateLimit, RatePolicy
from services.gateway.jobs.stages import StageSettings
from services.gateway.keys import InstanceKeys
from services.gateway.metrics import Metrics
from services.gateway.record.repository import PublicRecord
from tests.architecture.sources import ROOT
from tests.support.job_api import close, start
from tests.support.public_claims import claims
from tests.support.public_record import MOON
from tests.support.site_server import pages_of
from tests.unit.gateway.fakes import ADDRESS, Bench
from tests.unit.projector.histories import uid

SAMPLE: Final = ROOT / "tests" / "cases" / "claims" / "report.json"
APPEAL: Final = AppealOpened(
    appeal_id=uid("appeal"),
    investigation_id=MOON.investigation_id,
    kind="FALSE_POSITIVE",
    claim_ids=(MOON.claim(0)[0],),
    text="The second source is about <b>another</b> wall.\nPlease look again.",
    links=("https://example.org/walls",),
    range_key="0" * 64,
)


@dataclass(frozen=True, slots=True)
class DeskServer:
    """Where the desk is, and a job with a report of the account whose keys are `oe_<role>`."""

    url: str
    job: str
    bench: Bench


def desk_over(record: PublicRecord, bench: Bench) -> Desk:
    """The desk that reads these tables, and writes to the bench's log."""
    for role in ROLES:
        bench.key_table.add(f"oe_{role}", "audit", account=Account(uid("account"), role, "pro", None, False))
    api = bench.app.jobs
    assert api is not None
    limit = RateLimit(RatePolicy.parse("any", "100000/60"), bench.clock)
    stages = StageSettings(bench.jobs, LlmSettings(), "", {})
    return Desk(
        InstanceKeys(bench.key_table, bench.clock, fresh_s=3, denied_s=1),
        (MasterKey(bytes(32)),),
        Pages(SqlDesk(record), SqlCatalogue(record), api.reading, api.ledger, stages),
        Actions(api.entries),
        limit,
        limit,
        lambda scope: ADDRESS,
        bench.clock,
        Metrics(bench.registry.__class__()),
        body_timeouts=BodyTimeouts(5, 5),
        public_url="",
    )


@asynccontextmanager
async def desk_server(database_url: str, now: datetime) -> AsyncIterator[DeskServer]:
    """The pages and the desk on a free port."""
    bench = Bench(jobs=True, catalogue=True)
    database = Database(database_url, role="reader")
    desk = desk_over(PublicRecord(database), bench)
    history = claims()
    bench.jobs.add(*(event for event, _ in history.events))
    for edit in bench.jobs.of(EditMade):
        for ref in (edit.before, edit.after):
            bench.words.texts[ref.place] = history.tape.words[ref.sha256]
    job = await start(bench, key="oe_reader")
    close(bench, job, result=json.dumps(json.loads(SAMPLE.read_text())[0]["result"]), settled=False)
    async with pages_of(database_url, now, catalogue=True) as pages:

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await (desk if scope["path"].startswith(PATH) else pages)(scope, receive, send)

        server = HttpServer(app, bind("127.0.0.1", 0))
        await server.start()
        try:
            yield DeskServer(server.url, format_job_id(job), bench)
        finally:
            await server.stop()
            await database.close()
