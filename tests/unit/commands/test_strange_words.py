"""What strangers wrote cannot control the terminal of who looks at a fact or a dead letter."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson
import pytest
from click.testing import CliRunner

from analyses.claims.guard import make_guard
from kit.dead_letters import DeadLetter, Origin, StoredDeadLetter
from kit.ordered import StoredMessage
from kit.servers_in_use import Servers
from services.commands import claims, dead, doctor, log, replay, tail
from services.commands.log.monitor import Report
from services.projector.rebuild.shadow import Difference
from tests.support.notaries import POLICY
from tlog.monitor import Alarm

AT = datetime(2026, 7, 1, tzinfo=UTC)
STRANGE = pytest.mark.parametrize("strange", ["\x1b[2J", "\x9b2J", "\x7f", "\u202egnp", "\u2066a\u2069", "\x07"])


@STRANGE
def test_of_a_fact(strange: str) -> None:
    data = json.dumps({"event": {"payload": {"text": strange, "summary": strange}}}).encode()
    assert click.unstyle(
        tail.format_line(StoredMessage("ERRATA", 1, "errata.v1.claim.approved.x", data, AT))
    ).isprintable()


@STRANGE
def test_of_a_fact_as_json(strange: str) -> None:
    fact = {"text": f"{strange} Grüße \U000e0041 😀"}
    printed = tail.format_json(StoredMessage("ERRATA", 1, "x", orjson.dumps(fact), AT))
    assert (printed.isprintable(), json.loads(printed)["envelope"]) == (True, fact)
    assert "Grüße" in printed


@STRANGE
def test_of_a_dead_letter(strange: str) -> None:
    body = json.dumps({"text": strange}, ensure_ascii=False).encode()
    letter = DeadLetter("ingest", f"refused: {strange}", Origin("ERRATA", 1, "errata.v1.post.observed.x"), 5)
    assert dead.format_line(StoredDeadLetter(1, AT, letter, body)).isprintable()
    assert all(line.isprintable() for line in dead.format_body(body).splitlines())


@STRANGE
def test_of_an_export_that_a_monitor_compares(strange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit(*_: object) -> Report:
        return Report(1, 1, 0, (Alarm(f"the finding {strange} is shown, and no leaf is about it"),))

    monkeypatch.setattr(log, "visit", visit)
    (tmp_path / "policy").write_bytes(bytes(POLICY))
    ended = CliRunner().invoke(log.command, ["monitor", "http://[::1]/", "--policy", str(tmp_path / "policy")])
    assert ended.exit_code == 1
    assert ended.output.removesuffix("\n").isprintable()


@STRANGE
def test_of_a_fact_that_the_projector_refused(strange: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor._report("refused facts", doctor.Finding(False, f"1 refused; the newest is {strange}")) == 1
    assert capsys.readouterr().out.removesuffix("\n").isprintable()


@STRANGE
def test_of_rows_that_differ_from_the_log(
    strange: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def build(_: Servers) -> list[Difference]:
        return [Difference("claim", 1, 1, (f'{{"text": "{strange}"}}',), ())]

    monkeypatch.setattr(replay, "_build_shadow", build)
    with pytest.raises(SystemExit):
        replay._compare_with_shadow(Servers("nats://none", {}, None, None, {}, None, None, None, embedded=False))
    assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


@STRANGE
def test_of_the_sentences_that_the_claim_cache_knows(strange: str) -> None:
    guard = make_guard("Rents rose.", "")
    probed = claims.Probed({}, None, guard, "SLOW", "", None, "hit", samples=(f"Rents {strange} rose.",))
    assert all(value.isprintable() for _, value in claims.render(probed))
