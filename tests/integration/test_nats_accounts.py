"""What the analysts' account hears, and that it can do nothing else."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import nats
import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from contracts.access import ACCESS
from contracts.broker_rights import inbox
from contracts.topology import ANALYST_SUBJECTS, AUDITOR_JOB_REQUESTED, CONSUMERS, ERRATA, STORED, stream_of
from contracts.v1 import decode
from kit import topology
from kit.bus import Bus, connect
from kit.embedded import EmbeddedStack
from kit.embedded.nats import MAX_PAYLOAD_BYTES
from kit.embedded.nats_accounts import ANALYST_CONNECTIONS, ANALYST_SUBSCRIPTIONS
from kit.embedded.programs import find_script
from kit.flow import measure_flow
from kit.publisher import PublishConflict
from tests.support.consumers import has_left
from tests.support.findings import REFUSED, SHOWN, facts
from tests.support.servers import nats_server
from tests.support.system import ROOT, until


@dataclass
class Analyst:
    """A connection of the account, what it heard, and what it was refused."""

    client: Client
    heard: list[Msg] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    async def listen(self, subject: str) -> None:
        """Subscribe; a refusal arrives later."""

        async def take(message: Msg) -> None:
            self.heard.append(message)

        await self.client.subscribe(subject, cb=take)
        await self.client.flush()

    async def was_refused(self, count: int) -> None:
        async def so_many() -> bool:
            return len(self.refused) >= count

        await until(so_many, f"{count} refusals")


@asynccontextmanager
async def analyst(server: EmbeddedStack) -> AsyncIterator[Analyst]:
    """Connect as an analyst does."""
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    client = await nats.connect(server.endpoints.nats_analyst_url, error_cb=note, allow_reconnect=False)
    try:
        yield Analyst(client, refused=refused)
    finally:
        await client.close()


@asynccontextmanager
async def broker(folder: Path) -> AsyncIterator[tuple[EmbeddedStack, Bus]]:
    with nats_server(folder) as server:
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            yield server, bus


async def test_an_analyst_hears_what_was_stored_once_and_where_it_stands(tmp_path: Path) -> None:
    async with broker(tmp_path) as (server, bus), analyst(server) as listener:
        for subject in ANALYST_SUBJECTS:
            await listener.listen(subject)
        *others, approved, completed = facts(1)
        receipts = [await bus.publish(fact, correlation=uuid4()) for fact in (*others, approved)]
        assert (await bus.publish(approved, correlation=uuid4())).duplicate
        late = completed.model_copy(update={"follows": 77})
        with pytest.raises(PublishConflict):
            await bus.publish(late, correlation=uuid4())
        receipts.append(await bus.publish(completed, correlation=uuid4()))

        async def last() -> bool:
            return len(listener.heard) >= SHOWN

        await until(last, "two facts")
        assert [message.subject for message in listener.heard] == [fact.subject() for fact in (approved, completed)]
        assert not [message for message in listener.heard if REFUSED.encode() in message.data]
        sequences = [int((message.headers or {})["Nats-Sequence"]) for message in listener.heard]
        assert sequences == [receipt.sequence for receipt in receipts[-SHOWN:]]
        assert [decode(message.subject, message.data).event for message in listener.heard] == [approved, completed]
        headers = listener.heard[0].headers or {}
        assert headers["ce-id"] == str(approved.event_id())
        assert (headers["ce-type"], headers["ce-subject"]) == (approved.SUBJECT, approved.key())
        assert listener.refused == []


ELSEWHERE = (
    ">",
    "errata.>",
    "errata.v1.>",
    "errata.v1.*.*.*",
    "errata.v1.claim.>",
    "errata.v1.claim.*.*",
    "errata.v1.claim.proposed.>",
    "errata.v1.claim.rejected.>",
    "errata.v1.claim.validation_failed.>",
    "errata.v1.claim.validation_retry_scheduled.>",
    "errata.v1.investigation.>",
    "errata.v1.investigation.failed.>",
    "errata.v1.version.>",
    "errata.v1.observation.>",
    "errata.v1.post.>",
    "errata.dead.>",
    "stored.>",
    "errata-direct.>",
    "errata-position.>",
    "_INBOX.>",
    "$JS.>",
    "$KV.>",
    "$KV.user-keys.>",
    "$SYS.>",
)
NOWHERE = (
    "errata.v1.claim.approved.00000000-0000-0000-0000-000000000001",
    "errata.v1.investigation.completed.00000000-0000-0000-0000-000000000001",
    "errata.v1.post.viewed.x",
    "stored.errata.v1.claim.approved.x",
    "errata-direct.x",
    "errata-position.ERRATA",
    "_INBOX.x",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.DELETE.ERRATA",
    "$JS.API.STREAM.PURGE.ERRATA",
    "$JS.API.STREAM.MSG.GET.ERRATA",
    "$JS.API.DIRECT.GET.ERRATA",
    "$JS.API.DIRECT.GET.KV_user-keys.$KV.user-keys.x",
    "$JS.API.CONSUMER.CREATE.ERRATA",
    "$JS.API.CONSUMER.MSG.NEXT.ERRATA.validator-claim-proposed",
    "$KV.user-keys.x",
    "$SYS.REQ.SERVER.PING",
)


async def test_an_analyst_may_subscribe_to_nothing_else(tmp_path: Path) -> None:
    async with broker(tmp_path) as (server, bus), analyst(server) as listener:
        for subject in ELSEWHERE:
            await listener.listen(subject)
        await listener.was_refused(len(ELSEWHERE))
        for fact in facts(1):
            await bus.publish(fact, correlation=uuid4())
        await listener.client.flush()
        assert listener.heard == []
        assert all("permissions violation for subscription" in refusal for refusal in listener.refused)


async def test_an_analyst_may_publish_and_ask_nothing(tmp_path: Path) -> None:
    async with broker(tmp_path) as (server, bus), analyst(server) as listener, analyst(server) as other:
        await other.listen("errata.v1.claim.approved.>")
        heard: list[Msg] = []

        async def take(message: Msg) -> None:
            if not message.subject.startswith("$JS.EVENT."):  # the broker's own, of the buckets it has just made
                heard.append(message)

        await bus.client.subscribe(">", cb=take)
        await bus.client.flush()
        for subject in NOWHERE:
            await listener.client.publish(subject, b"{}", reply="errata.v1.claim.approved.x")
        await listener.was_refused(len(NOWHERE))
        await bus.client.flush()
        await other.client.flush()
        assert (heard, other.heard) == ([], [])
        assert (await bus.jetstream.stream_info(ERRATA.name)).state.messages == 0


async def test_nobody_gets_in_without_a_password(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        at = urlsplit(server.endpoints.nats_url)
        for who in ("", "openerrata:wrong@", "analyst:@", "analyst:wrong@"):
            with pytest.raises(nats.errors.Error, match="Authorization Violation"):
                await asyncio.wait_for(
                    nats.connect(f"nats://{who}{at.hostname}:{at.port}", allow_reconnect=False, error_cb=_silent), 10
                )


async def _silent(error: Exception) -> None:
    assert error is not None


async def test_streams_from_before_there_were_accounts_are_kept(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            for fact in facts(1):
                await bus.publish(fact, correlation=uuid4())
        server.stop()
        store = server.data_dir / "nats" / "jetstream" / "jetstream"
        (store / "ERRATA").rename(store / "$G")
        server.start()
        async with connect(server.endpoints.nats_url, name="test") as bus:
            assert (await bus.jetstream.stream_info(ERRATA.name)).state.messages == len(facts(1))
            await topology.require(bus)


def test_the_file_for_servers_of_one_s_own_is_accepted_and_says_the_same() -> None:
    file = ROOT / "deploy" / "nats.conf"
    users = ("services", "analyst", *ACCESS)
    passwords = {f"NATS_{user.upper()}_PASSWORD": f"of-{user}" for user in users}
    done = subprocess.run(
        [find_script("nats-server"), "-t", "-c", str(file)],
        env=os.environ | passwords,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    words = "".join(file.read_text().split())
    for subject in ANALYST_SUBJECTS:
        assert f'{{stream:"{STORED}.{subject}"}}' in words
        assert f'{{account:ERRATA,subject:"{STORED}.{subject}"}}' in words
        assert f'to:"{subject}"' in words
    allowed = ",".join(f'"{subject}"' for subject in ANALYST_SUBJECTS)
    assert f'publish{{deny:[">"]}}subscribe{{allow:[{allowed}]}}' in words
    assert f"max_connections:{ANALYST_CONNECTIONS},max_subscriptions:{ANALYST_SUBSCRIPTIONS}" in words
    assert "sync_interval:always" in words
    assert f"max_payload:{MAX_PAYLOAD_BYTES}" in words


@pytest.mark.parametrize("service", ACCESS)
async def test_every_service_measures_the_lag_it_may_see(tmp_path: Path, service: str) -> None:
    async with broker(tmp_path) as (server, bus):
        await bus.jetstream.publish(AUDITOR_JOB_REQUESTED.filter.replace("*", "waits"), b"")
        await until(lambda: has_left(bus, AUDITOR_JOB_REQUESTED, 1), "it is counted")
        async with connect(server.endpoints.nats_service_urls[service], name=service, inbox=inbox(service)) as own:
            flow = await measure_flow(own, ACCESS[service].log)
    ages = {each.name: each.oldest_s for each in flow.consumers}
    assert ages.keys() == {each.name for each in CONSUMERS if stream_of(each.event) in ACCESS[service].log}
    assert ages.get(AUDITOR_JOB_REQUESTED.name, 0) is not None
