"""The gateway on real servers: what it is told comes back through log and read model, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from contracts.topology import USER_KEYS
from contracts.v1 import (
    InvestigationFailed,
    InvestigationRequested,
)
from contracts.v1.ids import investigation_id, post_id
from contracts.v1.parts import PostRef
from kit.bus import connect
from kit.history import read_history
from tests.support.fakes import StillClock
from tests.support.gateway import (
    BATCH,
    FACT_CHECK,
    INVESTIGATE,
    LOOK,
    PROMPT,
    REGISTER,
    VIEW,
    Running,
    add_key,
    approved,
    ended,
    migrated,
    proposed,
    serving,
    started,
)
from tests.support.oracle import list_keys
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.gateway.fakes import USER_KEY, data, post_on_x

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url) as gateway_and_client:
        yield gateway_and_client


@pytest.mark.requirement("2.6-01", "2.6-12", "2.6-18", "3.3-03", "3.3-08")
async def test_a_post_is_seen_investigated_and_published(running: Running, database_url: str) -> None:
    """2.6-01: A page load registers the version, then records the view.
    2.6-12: Requests at once make one investigation.
    2.6-18: The extension polls until the run ends.
    3.3-03: An investigation's four states have their shapes.
    3.3-08: Statuses come in order, zero for a miss.
    """
    await add_key(database_url, "instance-key")
    body = post_on_x()
    answer = data(REGISTER, await running.mutate(REGISTER, body))
    version = UUID(answer["postVersionId"])

    viewed = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
    assert viewed == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}

    queued = data(
        INVESTIGATE, await running.mutate(INVESTIGATE, {"postVersionId": str(version)}, x_api_key="instance-key")
    )
    run = investigation_id(version, "FACT_CHECK")
    assert queued == {"investigationId": str(run), "status": "PENDING", "provenance": "CLIENT_FALLBACK"}
    question = {"investigationId": str(run)}
    pending = data(LOOK, await running.query(LOOK, question))
    assert (pending["investigationState"], pending["status"]) == ("INVESTIGATING", "PENDING")

    first, second = proposed(run, version, 0), proposed(run, version, 1)
    await running.tell(started(run, version), first, second, approved(second))

    async def progressed() -> Any:
        state = data(LOOK, await running.query(LOOK, question))
        return state if state["confirmedClaims"] else None

    progress = await until(progressed, "a claim is confirmed")
    assert progress["status"] == "PROCESSING"
    assert [claim["text"] for claim in progress["pendingClaims"]] == [first.payload.text]
    assert [claim["text"] for claim in progress["confirmedClaims"]] == [second.payload.text]
    assert (await running.http.get(f"/investigations/{run}.json")).status_code == 404

    await running.tell(approved(first), *ended(run, version, first, second))

    async def finished() -> Any:
        state = data(LOOK, await running.query(LOOK, question))
        return state if state["investigationState"] == "INVESTIGATED" else None

    complete = await until(finished, "the result is there")
    assert [claim["id"] for claim in complete["claims"]] == [str(first.claim_id), str(second.claim_id)]

    shown = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
    assert shown["claims"] == complete["claims"]
    again = data(
        INVESTIGATE, await running.mutate(INVESTIGATE, {"postVersionId": str(version)}, x_api_key="instance-key")
    )
    assert again["status"] == "COMPLETE"

    posts = [
        {"platform": "X", "externalId": body["externalId"], "versionHash": answer["versionHash"].upper()},
        {"platform": "X", "externalId": "2", "versionHash": answer["versionHash"]},
    ]
    for response in (await running.query(BATCH, {"posts": posts}), await running.mutate(BATCH, {"posts": posts})):
        counts = [status["incorrectClaimCount"] for status in data(BATCH, response)["statuses"]]
        assert counts == [2, 0]

    public = (await running.http.get(f"/investigations/{run}.json")).json()
    assert public["post"]["url"] == body["url"]
    assert public["investigation"]["promptVersion"] == "test-1"
    assert public["investigation"]["model"] == "demo-catalogue"
    assert len(public["claims"]) == 2


@pytest.mark.requirement("2.6-07", "2.6-13", "2.8-06", "2.8-07")
async def test_a_result_is_served_however_old_it_and_its_prompt_are(running: Running, nats_url: str) -> None:
    """2.6-07: A view of a finished version returns its claims.
    2.6-13: A finished result is returned at once.
    2.8-06: Results of earlier instructions are still shown.
    2.8-07: Results do not expire.
    """
    assert PROMPT.version not in (FACT_CHECK.look.prompt.version, FACT_CHECK.update.prompt.version)
    version = await running.version(post_on_x())
    run = investigation_id(version, "FACT_CHECK")
    claim = proposed(run, version, 0)
    request = InvestigationRequested(
        investigation_id=run,
        version_id=version,
        post_id=post_id(PostRef(platform="X", external_id="1234567890")),
        analysis="FACT_CHECK",
        origin="ORIGINAL",
        requested_by="READER",
    )
    ten_years_ago = StillClock(datetime(2016, 1, 2, 3, 4, 5, tzinfo=UTC))
    async with connect(nats_url, name="long-ago", clock=ten_years_ago) as then:
        for fact in (request, started(run, version), claim, approved(claim), *ended(run, version, claim)):
            await then.publish(fact, correlation=run)

    async def found() -> Any:
        state = data(VIEW, await running.mutate(VIEW, {"postVersionId": str(version)}))
        return state if state["investigationState"] == "INVESTIGATED" else None

    assert [each["text"] for each in (await until(found, "the result is found"))["claims"]] == [claim.payload.text]
    looked = data(LOOK, await running.query(LOOK, {"investigationId": str(run)}))
    assert looked["checkedAt"] == "2016-01-02T03:04:05.000Z"
    question = {"postVersionId": str(version)}
    asked = data(INVESTIGATE, await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY))
    assert (asked["status"], asked["investigationId"]) == ("COMPLETE", str(run))
    requests = [past for past in await read_history(running.host.bus, str(run)) if past.envelope.event == request]
    assert len(requests) == 1, "nothing is looked at again because it is old"


@pytest.mark.requirement("2.3-02", "2.6-12", "2.8-01", "2.6-16")
async def test_many_readers_ask_for_one_run(running: Running) -> None:
    """2.3-02: a request is answered once it is in the queue; no investigator runs here, so no model is asked.

    2.3-02: Every run goes through the queue.
    2.6-12: Requests at once make one investigation.
    2.8-01: One investigation for a post's version.
    2.6-16: A pending run takes the first key that comes.
    """
    version = await running.version(post_on_x())
    question = {"postVersionId": str(version)}
    keys = [f"{USER_KEY}{number:02}" for number in range(30)]
    requests = (running.mutate(INVESTIGATE, question, x_openai_api_key=key) for key in keys)
    answers = [data(INVESTIGATE, response) for response in await asyncio.gather(*requests)]
    run = investigation_id(version, "FACT_CHECK")
    assert {(answer["investigationId"], answer["status"]) for answer in answers} == {(str(run), "PENDING")}
    past = await read_history(running.host.bus, str(run))
    assert [type(each.envelope.event) for each in past] == [InvestigationRequested]
    request = past[0].envelope.event
    assert isinstance(request, InvestigationRequested)
    assert await running.host.user_keys.open(run, request.attachment) in keys
    kept = await list_keys(running.host.bus, USER_KEYS.name)
    assert kept == [f"{run}.{request.attachment}"], "those who were slower have taken theirs back"
    assert USER_KEY not in repr(past)


@pytest.mark.requirement("2.6-14")
async def test_a_run_that_just_failed_stays_failed(running: Running) -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly."""
    version = await running.version(post_on_x())
    question = {"postVersionId": str(version)}
    await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY)
    run = investigation_id(version, "FACT_CHECK")
    await running.tell(
        InvestigationFailed(investigation_id=run, version_id=version, attempt=0, failure="NON_RETRYABLE", reason="test")
    )

    async def failed() -> bool:
        state = data(LOOK, await running.query(LOOK, {"investigationId": str(run)}))
        return bool(state["investigationState"] == "FAILED")

    await until(failed, "the run failed")
    answer = data(INVESTIGATE, await running.mutate(INVESTIGATE, question, x_openai_api_key=USER_KEY))
    assert answer["status"] == "FAILED"
    assert len(await read_history(running.host.bus, str(run))) == 2
