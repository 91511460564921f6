"""Looking on: what a fact looks like, and the command over a real broker."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import click
import pytest

from contracts.topology import VIEWS
from contracts.v1 import decode
from kit import topology
from kit.bus import connect
from kit.ordered import StoredMessage
from kit.vault import MasterKey
from services.commands.tail import Moment, format_json, format_line, parse_filters
from tests.support.findings import facts
from tests.support.servers import nats_server
from tests.support.system import ROOT, system, until

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def recorded(subject: str, event: object) -> StoredMessage:
    return StoredMessage("ERRATA", 12, subject, json.dumps({"event": event}).encode(), AT)


def test_a_line_tells_what_matters_and_nothing_that_moves_the_cursor() -> None:
    payload = {"text": "Bad\x1b[2J\nsentence", "summary": "It is not so."}
    shown = format_line(recorded("errata.v1.claim.approved.12345678-0000", {"payload": payload}))
    plain = click.unstyle(shown)
    assert plain.split() == [
        "12",
        "2026-03-04",
        "05:06:07",
        "claim.approved",
        "12345678",
        *["“Bad\ufffd[2J", "sentence”", "It", "is", "not", "so."],
    ]
    assert "\x1b[32m" in shown
    assert "\n" not in shown
    assert click.unstyle(format_line(StoredMessage("ERRATA", 1, "errata.v1.claim.approved.x", b"{", AT))).endswith(
        "(cannot be decoded)"
    )
    assert "3 findings" in format_line(recorded("errata.v1.investigation.completed.x", {"claims": [1, 2, 3]}))
    assert "1 finding" in format_line(recorded("errata.v1.investigation.completed.x", {"claims": [1]})).split("  ")
    assert "WIKIPEDIA  en:1" in format_line(
        recorded("errata.v1.version.seen.x", {"post": {"platform": "WIKIPEDIA", "external_id": "en:1"}})
    )


def test_a_json_line_holds_the_envelope_as_it_is() -> None:
    found = json.loads(format_json(recorded("errata.v1.claim.approved.x", {"a": 1})))
    assert found["sequence"] == 12
    assert found["subject"] == "errata.v1.claim.approved.x"
    assert found["stored_at"] == "2026-03-04T05:06:07+00:00"
    assert found["envelope"] == {"event": {"a": 1}}
    assert json.loads(format_json(StoredMessage("ERRATA", 1, "x", b"{", AT)))["envelope"] is None


def test_filters() -> None:
    assert parse_filters(()) == (">",)
    assert parse_filters(("claim.>", "errata.v1.version.seen.*")) == ("errata.v1.claim.>", "errata.v1.version.seen.*")
    for bad in (
        ("claim..x",),
        ("claim.>.x",),
        ("claim. x",),
        ("claim.>", "claim.approved.*"),
        ("claim.*.x", "claim.approved.>"),
    ):
        with pytest.raises(click.BadParameter):
            parse_filters(bad)


@pytest.mark.parametrize(
    ("given", "near"), [("claim.aproved.>", "claim.approved.*"), ("version.seen", "version.seen.*")]
)
def test_a_filter_that_can_never_match_is_refused_with_the_nearest_subject(given: str, near: str) -> None:
    """The command would wait for ever without a word."""
    with pytest.raises(click.BadParameter, match=re.escape(repr(near))):
        parse_filters((given,))


def test_each_stream_has_filters_of_its_own() -> None:
    assert parse_filters(("post.viewed.*",), VIEWS) == ("errata.v1.post.viewed.*",)
    with pytest.raises(click.BadParameter, match="matches no event"):
        parse_filters(("claim.>",), VIEWS)


def test_moments() -> None:
    moment = Moment()
    assert moment.convert("2026-03-04T05:06:07", None, None) == AT
    assert moment.convert("2026-03-04T06:06:07+01:00", None, None) == AT
    for text, age in (("90s", 90), ("15m", 900), ("2h", 7_200), ("7d", 604_800)):
        found = moment.convert(text, None, None)
        assert abs(datetime.now(UTC) - timedelta(seconds=age) - found) < timedelta(minutes=1)
    for bad in ("yesterday", "", "5w", "99999999999999d"):
        with pytest.raises(click.BadParameter):
            moment.convert(bad, None, None)


async def test_the_command_from_any_place_to_the_end_and_beyond(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        given = {
            "OPENERRATA_NATS_URL": server.endpoints.nats_url,
            "OPENERRATA_DATABASE_URL": "postgresql://reader@127.0.0.1:9/none",
            "OPENERRATA_S3_ENDPOINT": "http://127.0.0.1:9",
            "OPENERRATA_S3_ACCESS_KEY": "none",
            "OPENERRATA_S3_SECRET_KEY": "none",
            "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
        }
        async with connect(server.endpoints.nats_url, name="test") as bus, system(tmp_path / "s", **given) as run:
            await topology.apply(bus)
            stored = [await bus.publish(fact, correlation=uuid4()) for n in range(3) for fact in facts(n)]

            async def tail(*options: str) -> list[int]:
                ended = await run.run("tail", "--json", "--no-follow", *options)
                assert ended.err == ""
                assert ended.code == 0, ended.err
                found = [json.loads(each) for each in ended.out.splitlines()]
                for each in found:
                    assert decode(each["subject"], json.dumps(each["envelope"]).encode())
                return [each["sequence"] for each in found]

            every = [receipt.sequence for receipt in stored]
            assert await tail("--from", "0") == await tail("--since", "1h") == every
            assert await tail("--from", "5", "--subject", "claim.>") == [5, 8, 9, 10, 11, 14, 15, 16, 17]
            assert await tail() == []
            assert (await run.run("tail", "--from", "1", "--since", "1h")).code == 2

            log = tmp_path / "follow.txt"
            with log.open("wb") as sink:
                following = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "services", "tail", "--from", "17", "--data-dir", str(run.data_dir)),
                    cwd=ROOT,
                    env={**os.environ, **given},
                    stdout=sink,
                    stderr=asyncio.subprocess.STDOUT,
                )
            try:

                async def lines(count: int = 2) -> bool:
                    return log.read_text().count("\n") == count

                await until(lines, "what was there")
                await bus.publish(facts(9)[0], correlation=uuid4())

                async def one_more() -> bool:
                    return await lines(3)

                await until(one_more, "what came")
                following.send_signal(signal.SIGINT)
                assert await asyncio.wait_for(following.wait(), 60) == 0
            finally:
                if following.returncode is None:
                    following.kill()
                    await following.wait()
            assert [int(each.split()[0]) for each in log.read_text().splitlines()] == [17, 18, 19]
