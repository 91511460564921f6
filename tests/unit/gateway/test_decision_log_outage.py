"""The decision log while its database is away."""

from __future__ import annotations

import httpx
from structlog.testing import capture_logs

from kit.database import Database
from services.gateway.public.decision_log import DecisionLogEndpoint
from services.gateway.record.repository import PublicRecord
from tests.support.fakes import StillClock

CHECKPOINT = "/log/v1/checkpoint"


async def test_a_log_that_cannot_be_read_is_said_to_readers_and_to_the_operator() -> None:
    record = PublicRecord(Database("postgresql+psycopg://reader@127.0.0.1:9/none", role="reader"))
    transport = httpx.ASGITransport(DecisionLogEndpoint(record, StillClock()))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        with capture_logs() as logs:
            answer = await http.get(CHECKPOINT)
    assert (answer.status_code, "try again" in answer.text) == (503, True)
    assert [line["path"] for line in logs if line["event"] == "unavailable"] == [CHECKPOINT]
