"""Labels over real servers: from a finding in the log to what another implementation of the protocol reads."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import coincurve
import libipld
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from analyses.claim_audit import ClaimAudit
from contracts.topology import ERRATA, JOBS
from contracts.v1 import ErasureOrdered, Event, LabelIssued, decode
from contracts.v1.parts import ModelName
from kit.database import Database
from kit.pages import read_last_sequence, read_page
from kit.settings import load
from services.curator.adapters import EventLog, SqlLabelRecord
from services.curator.label_sweep import LabelSweep
from services.curator.settings import CuratorSettings
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, owner
from tests.support.bluesky_page import PinnedPage
from tests.support.fakes import StillClock
from tests.support.gateway import Running, migrated, serving
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.projector.histories import Page

pytest_plugins = ["tests.support.servers"]

LABELER: Final = "did:plc:z72i7hdynmk6r22z27h6tvur"
SECRET: Final = "1f" * 32
PUBLIC: Final = coincurve.PrivateKey(bytes.fromhex(SECRET)).public_key
QUERY: Final = "/xrpc/com.atproto.label.queryLabels"
SUBSCRIBE: Final = "/xrpc/com.atproto.label.subscribeLabels"
NOW: Final = datetime.now(UTC).replace(microsecond=125_000)
"""The gateway, which decides what has ended, follows the real time."""
DAY_S: Final = 86_400.0


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


class Labelled:
    """An instance with a labeler: its log, its tables, its gateway, and a curator that compares when told."""

    def __init__(self, running: Running, database: Database) -> None:
        self.running = running
        self.bus = running.host.bus
        self.clock = StillClock(NOW)
        self.sweep = LabelSweep(SqlLabelRecord(self.bus, database), EventLog(self.bus), self.clock)

    async def label(self, *events: Event) -> list[LabelIssued]:
        """Store facts and let the curator compare once the tables hold them; what it published."""
        await self.running.tell(*events)
        before = len(await self.issued())
        await self.sweep.run_once()
        await self.projected(ERRATA.name)
        await self.sweep.run_once()
        await self.projected(JOBS.name)
        return [event for _, event in (await self.issued())[before:]]

    async def projected(self, stream: str) -> None:
        """Wait until the tables hold a stream."""
        newest = await read_last_sequence(self.bus, stream)

        async def reached() -> bool:
            async with self.running.host.database("reader").connect() as connection:
                found = await connection.exec_driver_sql(
                    f"SELECT 1 FROM position WHERE stream = '{stream}' AND sequence >= {newest}"
                )
                return not newest or found.scalar() is not None

        await until(reached, f"the tables hold {stream}")

    async def issued(self) -> list[tuple[int, LabelIssued]]:
        """All labels in the log with their sequences."""
        page = await read_page(self.bus, JOBS.name, (f"{LabelIssued.SUBJECT}.*",), after=0, limit=1_000)
        found = [(each.sequence, decode(each.subject, each.data).event) for each in page.messages]
        return [(sequence, event) for sequence, event in found if isinstance(event, LabelIssued)]

    async def query(self, pattern: str = "*", **more: str) -> Any:
        """The answer of queryLabels."""
        response = await self.running.http.get(QUERY, params={"uriPatterns": pattern, **more})
        assert response.status_code == 200, response.text
        return response.json()

    async def frames(self, count: int, cursor: int | str | None = None) -> list[bytes]:
        """The next frames of subscribeLabels."""
        async with self.subscribed(cursor) as frames:
            return [await anext(frames) for _ in range(count)]

    @asynccontextmanager
    async def subscribed(self, cursor: int | str | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """A subscriber's frames."""
        url = str(self.running.http.base_url.join(SUBSCRIBE)).replace("http", "ws", 1)
        async with asyncio.timeout(60), connect(url if cursor is None else f"{url}?cursor={cursor}") as socket:

            async def frames() -> AsyncIterator[bytes]:
                async for message in socket:
                    assert isinstance(message, bytes)
                    yield message

            yield frames()


@pytest.fixture
async def labelled(nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Labelled]:
    monkeypatch.setenv("OPENERRATA_LABELER_DID", LABELER)
    monkeypatch.setenv("OPENERRATA_LABELER_KEY", SECRET)
    curator = Database(database_url, role="curator")
    async with serving(nats_url, database_url) as running:
        yield Labelled(running, curator)
    await curator.close()


def read_frame(frame: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and body of a frame, by libipld."""
    header, body = libipld.decode_dag_cbor_multi(frame)
    return header, body


def is_signed(label: dict[str, Any]) -> bool:
    """Whether a label is signed, by libipld and libsecp256k1, which takes low-S signatures only."""
    unsigned = {name: value for name, value in label.items() if name != "sig"}
    digest = hashlib.sha256(libipld.encode_dag_cbor(unsigned)).digest()
    der = coincurve.ecdsa.cdata_to_der(coincurve.ecdsa.deserialize_compact(label["sig"]))
    return PUBLIC.verify(der, digest, hasher=None)


def from_json(label: dict[str, Any]) -> dict[str, Any]:
    """A label of queryLabels with its signature as bytes."""
    return {**label, "sig": base64.b64decode(label["sig"]["$bytes"] + "==")}


@pytest.mark.requirement("FS-55")
async def test_a_label_is_issued_renewed_negated_and_read_by_another_implementation(labelled: Labelled) -> None:
    """FS-55: A published finding on a pinned record may be issued as a signed label"""
    page = PinnedPage("The moon is made of cheese.")
    (first,) = await labelled.label(page.registered(), *page.checked())
    assert (first.uri, first.cid, first.why) == (page.uri, page.cid, "PUBLISHED")
    (answered,) = (await labelled.query(page.uri))["labels"]
    label = from_json(answered)
    assert label == {
        "ver": 1,
        "src": LABELER,
        "uri": page.uri,
        "cid": page.cid,
        "val": "erratum",
        "cts": f"{NOW:%Y-%m-%dT%H:%M:%S}.125Z",
        "exp": f"{NOW + timedelta(days=30):%Y-%m-%dT%H:%M:%S}.125Z",
        "sig": label["sig"],
    }
    assert is_signed(label)
    assert not is_signed({**label, "val": "other"})

    assert await labelled.label() == []
    labelled.clock.pass_by(7 * DAY_S)
    assert [event.why for event in await labelled.label()] == ["RENEWED"]
    assert (await labelled.query(page.uri))["labels"][0]["exp"].startswith(
        f"{NOW + timedelta(days=37):%Y-%m-%dT%H:%M:%S}"
    )

    edited = PinnedPage("The moon is made of stone.")
    assert [event.why for event in await labelled.label(edited.registered("edit"))] == ["REPLACED"]
    assert (await labelled.query(page.uri))["labels"] == []
    (again,) = await labelled.label(*edited.checked())
    assert (again.cid, again.why) == (edited.cid, "PUBLISHED")
    assert edited.cid != page.cid

    gone = ErasureOrdered(erasure_id=uuid4(), post_id=page.post_id, reason="asked for")
    assert [(event.cid, event.why) for event in await labelled.label(gone)] == [(edited.cid, "FORGOTTEN")]
    assert (await labelled.query())["labels"] == []

    issued = await labelled.issued()
    frames = await labelled.frames(5, cursor=0)
    for frame, (sequence, event) in zip(frames, issued, strict=True):
        header, body = read_frame(frame)
        assert header == {"op": 1, "t": "#labels"}
        assert body["seq"] == sequence
        (label,) = body["labels"]
        assert is_signed(label)
        assert (label["uri"], label["cid"], label.get("neg", False)) == (event.uri, event.cid, event.neg)
    for place, (sequence, _) in enumerate(issued[:-1], 1):
        assert await labelled.frames(5 - place, cursor=sequence) == frames[place:], "the same bytes from any cursor"


@pytest.mark.requirement("FS-55")
async def test_labels_of_an_instance_that_stopped_end_by_themselves(labelled: Labelled) -> None:
    """FS-55: A published finding on a pinned record may be issued as a signed label"""
    page = PinnedPage("The moon is made of cheese.")
    labelled.clock.pass_by(-31 * DAY_S)
    (event,) = await labelled.label(page.registered(), *page.checked())
    assert event.exp == NOW - timedelta(days=1)
    assert (await labelled.query(page.uri))["labels"] == []
    _, body = read_frame((await labelled.frames(1, cursor=0))[0])
    assert body["labels"][0]["exp"] == f"{event.exp:%Y-%m-%dT%H:%M:%S}.125Z"
    labelled.clock.pass_by(31 * DAY_S)
    assert [each.why for each in await labelled.label()] == ["PUBLISHED"], "it works again"
    assert len((await labelled.query(page.uri))["labels"]) == 1


@pytest.mark.requirement("FS-56")
async def test_nothing_but_a_verified_finding_of_the_fact_check_is_labelled(labelled: Labelled) -> None:
    """FS-56: Labels are for verified findings of the fact check only, and carry no quote"""
    clean = PinnedPage("The sky is blue.", "3l6oveexaaaaa")
    unproved = PinnedPage("The sky is green.", "3l6oveexbbbbb", is_proved=False)
    shown = PinnedPage("The sky is red.", "3l6oveexccccc")
    other_kind = PinnedPage("The sky is black.", "3l6oveexddddd")
    unpinned = Page("en:7")
    late = PinnedPage("The sky is brown.", "3l6oveexfffff", is_proved=False)
    checked_before_proof = late.checked()
    late_registered = late.registered()
    late.provenance = "SERVER_VERIFIED"
    hidden = PinnedPage("The sky is white.", "3l6oveexeeeee")
    demo = ModelName(provider="demo", model="demo-catalogue")
    audit = [
        event.model_copy(update={"analysis": ClaimAudit.name} if hasattr(event, "analysis") else {})
        for event in other_kind.checked()
    ]
    assert (
        await labelled.label(
            *(clean.registered(), *clean.checked(0)),
            *(unproved.registered(), *unproved.checked()),
            *(late_registered, *checked_before_proof, late.verified()),
            *(shown.registered(), *shown.checked(model=demo)),
            *(other_kind.registered(), *audit),
            *(unpinned.registered(), unpinned.requested(), unpinned.started(), unpinned.completed([0])),
            *(hidden.registered(), hidden.unavailable("later", "not_public"), *hidden.checked()),
        )
        == []
    )
    page = PinnedPage("The moon is made of cheese.")
    (event,) = await labelled.label(page.registered(), *page.checked())
    words = {page.text, page.claim(0)[1].text}
    assert not any(word in event.model_dump_json() for word in words)
    assert await labelled.label(page.unavailable("an outage", "timeout")) == []
    assert [each.why for each in await labelled.label(page.unavailable("later", "not_public"))] == ["NOT_PUBLIC"]
    assert await labelled.label(page.seen("later")) == [], "not again for this version"
    deleted = PinnedPage("The moon is square.", "3l6oveexggggg")
    await labelled.label(deleted.registered(), *deleted.checked())
    assert [each.why for each in await labelled.label(deleted.unavailable("later", "not_found"))] == ["NOT_PUBLIC"]
    posts = [PinnedPage(f"The moon is {shape}.", f"3l6oveex{shape * 5}"[:13]) for shape in ("h", "i")]
    await labelled.label(*(event for each in posts for event in (each.registered(), *each.checked())))
    ended = await labelled.label(posts[0].unavailable("later", "hidden_by_author"))
    assert [each.why for each in ended] == ["NOT_PUBLIC"] * 2, "all posts of an author who asks not to be shown"


@pytest.mark.requirement("TR-33", "TR-34")
async def test_a_finding_that_is_taken_back_loses_its_label_and_a_released_one_gets_it_again(
    labelled: Labelled,
) -> None:
    """At the second of two comparisons.

    TR-33: A suspended finding leaves every surface within 60 seconds
    TR-34: Who saw a finding that is taken back gets one notice
    """
    assert 2 * load(CuratorSettings).labels_s < 60
    page = PinnedPage("The moon is made of cheese.")
    await labelled.label(page.registered(), *page.checked())
    (ended,) = await labelled.label(page.changed(0, "SUSPENDED"))
    assert (ended.neg, ended.why) == (True, "WITHDRAWN")
    assert (await labelled.query(page.uri))["labels"] == []
    suspended = await read_last_sequence(labelled.bus, ERRATA.name)
    assert [each.why for each in await labelled.label(page.changed(0, "RELEASED", suspended))] == ["PUBLISHED"]
    released = await read_last_sequence(labelled.bus, ERRATA.name)
    assert [each.why for each in await labelled.label(page.changed(0, "RETRACTED", released))] == ["WITHDRAWN"]


@pytest.mark.requirement("FS-57")
async def test_a_rebuild_gives_the_same_table_and_stream(labelled: Labelled, database_url: str) -> None:
    """FS-57: The labeler is off until the operator gives it a DID and a key"""
    pages = [PinnedPage(f"The moon is made of cheese {n}.", f"3l6oveexaaaa{n}") for n in "abc"]
    for page in pages:
        await labelled.label(page.registered(), *page.checked())
    labelled.clock.pass_by(7 * DAY_S)
    assert len(await labelled.label()) == 3
    answered, streamed = await labelled.query(), await labelled.frames(6, cursor=0)
    tables = await everything(database_url)
    assert len(tables["label"]) == 3
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    assert (await everything(database_url))["label"] == tables["label"]
    assert await labelled.query() == answered
    assert await labelled.frames(6, cursor=0) == streamed
    async with await owner(database_url) as db:
        found = await db.execute("SELECT has_table_privilege('errata_curator', 'label', 'SELECT')")
        assert await found.fetchone() == (True,)
    pages[0] = PinnedPage("Something else.", "3l6oveexaaaaa")
    assert [event.why for event in await labelled.label(pages[0].registered("edit"))] == ["REPLACED"]


async def test_a_second_curator_publishes_nothing_twice(labelled: Labelled, database_url: str) -> None:
    page = PinnedPage("The moon is made of cheese.")
    await labelled.running.tell(page.registered(), *page.checked())
    curator = Database(database_url, role="curator")
    other = LabelSweep(SqlLabelRecord(labelled.bus, curator), EventLog(labelled.bus), labelled.clock)
    for sweep in (labelled.sweep, other):
        await sweep.run_once()
    await labelled.projected(ERRATA.name)
    await asyncio.gather(labelled.sweep.run_once(), other.run_once())
    await curator.close()
    assert len(await labelled.issued()) == 1


async def test_a_page_of_labels_goes_on_at_its_cursor(labelled: Labelled) -> None:
    pages = [PinnedPage(f"The moon is made of cheese {n}.", f"3l6oveexaaaa{n}") for n in "abc"]
    for page in pages:
        await labelled.label(page.registered(), *page.checked())
    first = await labelled.query(limit="2")
    second = await labelled.query(limit="2", cursor=first["cursor"])
    assert [each["uri"] for each in first["labels"] + second["labels"]] == [page.uri for page in pages]
    assert "cursor" not in second
    begins = pages[0].uri.removesuffix("a") + "*"
    assert len((await labelled.query(begins))["labels"]) == 3
    assert (await labelled.query(pages[0].uri.replace("post", "p_st", 1) + "*"))["labels"] == []
    assert (await labelled.query(sources="did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"))["labels"] == []
    assert len((await labelled.query(sources=LABELER))["labels"]) == 3
    for wrong in (
        {},
        {"uriPatterns": "a*b"},
        {"uriPatterns": "*", "limit": "251"},
        {"uriPatterns": "*", "cursor": "x"},
        {"uriPatterns": "at://\0*"},
    ):
        response = await labelled.running.http.get(QUERY, params=wrong)
        assert (response.status_code, response.json()["error"]) == (400, "InvalidRequest"), wrong


async def test_a_page_of_another_site_may_ask_for_labels_with_headers_of_the_protocol(labelled: Labelled) -> None:
    http = labelled.running.http
    origin = {"origin": "https://client.example"}
    asked = {"access-control-request-method": "GET", "access-control-request-headers": "atproto-accept-labelers"}
    preflight = await http.options(QUERY, headers=origin | asked)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "*"
    assert "GET" in preflight.headers["access-control-allow-methods"]
    answers = [await http.request(method, QUERY, params={"uriPatterns": "*"}) for method in ("GET", "HEAD")]
    assert [(each.status_code, each.headers["access-control-allow-origin"]) for each in answers] == [(200, "*")] * 2


async def test_a_subscriber_gets_what_is_issued_from_now_on(labelled: Labelled) -> None:
    early, late = PinnedPage("So they say.", "3l6oveexaaaaa"), PinnedPage("So they said.", "3l6oveexbbbbb")
    await labelled.label(early.registered(), *early.checked())
    async with labelled.subscribed() as frames:
        await labelled.label(late.registered(), *late.checked())
        _, body = read_frame(await anext(frames))
    assert body["labels"][0]["uri"] == late.uri


async def test_a_cursor_ahead_of_the_log_is_an_error(labelled: Labelled) -> None:
    for cursor, name in ((1_000_000, "FutureCursor"), ("x", "InvalidRequest")):
        async with labelled.subscribed(cursor) as frames:
            header, body = read_frame(await anext(frames))
            assert (header, body["error"]) == ({"op": -1}, name)
            with pytest.raises(ConnectionClosedError, match="1008"):
                await anext(frames)


async def test_a_gateway_that_stops_ends_its_streams(
    nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENERRATA_LABELER_DID", LABELER)
    monkeypatch.setenv("OPENERRATA_LABELER_KEY", SECRET)
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving(nats_url, database_url))
        socket = await connect(str(running.http.base_url.join(SUBSCRIBE)).replace("http", "ws", 1))
        await stack.aclose()
        with pytest.raises(ConnectionClosedError, match="1013"):
            await socket.recv()


async def test_sockets_elsewhere_are_refused_without_a_word_in_the_log(
    nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENERRATA_LABELER_DID", LABELER)
    monkeypatch.setenv("OPENERRATA_LABELER_KEY", SECRET)
    async with serving(nats_url, database_url) as running:
        for path in ("/", "/health", "/trpc/post.batchStatus", "/events", "/desk", f"{SUBSCRIBE}s"):
            with pytest.raises(InvalidStatus) as refusal:
                await connect(str(running.http.base_url.join(path)).replace("http", "ws", 1))
            assert refusal.value.response.status_code == 403, path
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.requirement("FS-57")
async def test_there_is_no_labeler_by_default(nats_url: str, database_url: str) -> None:
    """FS-57: The labeler is off until the operator gives it a DID and a key"""
    async with serving(nats_url, database_url) as running:
        assert (await running.http.get(QUERY, params={"uriPatterns": "*"})).status_code == 404
        url = str(running.http.base_url.join(SUBSCRIBE)).replace("http", "ws", 1)
        with pytest.raises(InvalidStatus) as refusal:
            await connect(url)
        assert refusal.value.response.status_code == 404
