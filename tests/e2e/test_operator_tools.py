"""An operator's tools on a running system: look, replay, forget, save, and bring everything back on empty servers."""

from __future__ import annotations

import json
from pathlib import Path
from time import time

import pytest

from contracts.topology import JOBS
from contracts.v1 import RetentionPurged
from kit.bus import connect
from kit.dump import sha256_of
from kit.tasks import read_last_success
from tests.e2e.posts import BATS, BRAIN, WALL, on_wikipedia, on_x
from tests.support.extension_client import Extension
from tests.support.oracle import Fact, Oracle, differences, oracle
from tests.support.sites import Sites
from tests.support.system import System, system

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

KEY = "oe_the-key-of-this-instance"
WITHIN_S = 120.0


async def done(running: System, *arguments: str) -> str:
    """Run a command that must succeed; what it prints."""
    ended = await running.run(*arguments, within_s=WITHIN_S)
    assert ended.code == 0, ended.out + ended.err
    return ended.out


async def lasting_facts(looking: Oracle) -> list[Fact]:
    """All facts without those of the sweep, which stores one in each hour that begins."""
    return [fact for fact in await looking.facts() if not fact.subject.startswith(RetentionPurged.SUBJECT)]


@pytest.mark.requirement("2.12-01")
async def test_what_an_operator_saves_comes_back_and_what_was_forgotten_does_not(tmp_path: Path) -> None:
    """2.12-01: Input text and contentHash persisted."""
    backup = tmp_path / "backup"
    async with Sites() as sites:
        settings = {
            "OPENERRATA_VERIFIER_WIKIPEDIA_URL": f"{sites.url}/w/api.php",
            "OPENERRATA_SELECTOR_RUNS_PER_DAY": "0",
        }
        async with system(tmp_path / "first", **settings) as running:
            await running.up()
            await done(running, "keys", "add", "tests", "--key", KEY)
            async with oracle(running.database_url, running.nats_url) as looking:
                article = on_wikipedia(sites, BRAIN, WALL, title="A kept walk")
                secret = on_x(BATS)
                secret["observedContentText"] += " The harbour master keeps a secret."
                secret["metadata"]["text"] = secret["observedContentText"]
                async with Extension(running.url, api_key=KEY) as reader:
                    version, kept, _ = await reader.investigated(article.observation)
                    _, lost, _ = await reader.investigated(secret)
                    await reader.view(version["postVersionId"])
                await looking.settled()

                flow = json.loads(await done(running, "streams", "--json", "--every", "0.1"))
                consumers = {each["name"]: each for each in flow["consumers"]}
                assert consumers["validator-claim-proposed"]["waiting"] == 0
                assert flow["positions"] | {JOBS.name: 0} == await looking.heads(), "but for retention facts"
                table = await done(running, "streams", "--every", "0.1")
                assert "up to date" in table
                assert "have ended; none is open" in table
                assert flow["conclude"]["oldest_s"] is None
                assert await done(running, "dead", "list") == ""

                before = await looking.rows()
                heads = await looking.heads()
                counted = await done(running, "replay", "--to", "validator-claim-proposed", "--aggregate", kept)
                assert "would deliver 2 facts" in counted
                assert "would deliver 0 facts" in await done(
                    running, "replay", "--to", "validator-claim-proposed", "--until", "2000-01-01"
                )
                wikipedia = ("replay", "--to", "validator-claim-proposed", "--platform", "WIKIPEDIA")
                assert "delivered 2 facts" in await done(running, *wikipedia, "--rate", "50", "--go")
                await looking.settled()
                assert await looking.heads() == heads, "a replay adds nothing to the log"
                assert "the read model holds every fact" in await done(running, "doctor")
                assert differences(before, await looking.rows()) == []
                assert "agree with the log" in await done(running, "replay", "--shadow")

                assert "harbour master" in await looking.dump()
                await done(running, "backup", str(backup))
                (backup / ".unfinished-of-a-killed-one").mkdir()
                (backup / ".unfinished-of-a-killed-one" / "ERRATA.snapshot").write_text("The harbour master …")
                said = await done(running, "post", "erase", secret["url"], "--reason", "asked for")
                assert said.startswith("erased ")
                await looking.settled()
                assert "harbour master" not in await looking.dump()
                assert "harbour master" not in await looking.stream_text("ERRATA")
                assert "erased" in await done(running, "ledger", "verify")
                assert "agree with the log" in await done(running, "replay", "--shadow")

                await done(running, "backup", str(backup))
                next((backup / "blobs").iterdir()).write_bytes(b"as a copy that was cut short leaves it")
                again = await done(running, "backup", str(backup))
                assert again.startswith("saved ")
                rows, facts = await looking.rows(), await lasting_facts(looking)
                async with connect(running.nats_url, name="test") as bus:
                    since = await read_last_success(bus)
                assert all(time() - at < WITHIN_S for at in since.values()), since
        everything = b"".join(file.read_bytes() for file in backup.rglob("*") if file.is_file())
        assert b"harbour master" not in everything

        async with system(tmp_path / "second", **settings) as other:
            assert "restored" in await done(other, "restore", str(backup))
            refused = await other.run("restore", str(backup), within_s=WITHIN_S)
            assert refused.code == 1
            assert "already" in refused.err
            assert await done(other, "ledger", "verify")
            await other.up()
            async with oracle(other.database_url, other.nats_url) as looking:
                await looking.settled()
                assert differences(rows, await looking.rows()) == []
                assert await lasting_facts(looking) == facts
                assert await looking.dead() == []
                async with Extension(other.url, api_key=KEY) as reader:
                    assert (await reader.look(kept))["investigationState"] == "INVESTIGATED"
                    _, later, _ = await reader.investigated(on_wikipedia(sites, BATS, title="A later walk").observation)
                    assert await looking.once_each(later) == [BATS]
                assert not await looking.value("SELECT 1 FROM readmodel.investigation WHERE id = %s", lost)
                await looking.settled()
            assert await done(other, "ledger", "verify")


async def test_a_damaged_backup_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    async with system(tmp_path / "first") as first:
        await done(first, "projector", "rebuild")
        await done(first, "topology", "apply")
        await done(first, "keys", "add", "tests", "--key", KEY)
        await done(first, "backup", str(tmp_path / "backup"))
    (snapshot,) = (tmp_path / "backup").glob("data-*/ERRATA.snapshot")
    wanted = sha256_of(snapshot)
    snapshot.write_bytes(b"no snapshot")
    async with system(tmp_path / "second") as second:
        ended = await second.run("restore", str(tmp_path / "backup"), within_s=WITHIN_S)
        assert (ended.code, "ERRATA.snapshot does not have its recorded hash" in ended.err) == (1, True), ended.err
        manifest = (tmp_path / "backup" / "manifest.json").read_text()
        (tmp_path / "backup" / "manifest.json").write_text('{"version": "0.')
        ended = await second.run("restore", str(tmp_path / "backup"), within_s=WITHIN_S)
        assert (ended.code, ended.err) == (1, f"Error: {tmp_path / 'backup' / 'manifest.json'} is damaged\n")
        assert not (second.data_dir / "postgres").exists()
        (tmp_path / "backup" / "manifest.json").write_text(manifest.replace(wanted, sha256_of(snapshot)))
        for refusal in ("ERRATA: ", "how to empty servers after a restore that was broken off"):
            broken_off = await second.run("restore", str(tmp_path / "backup"), within_s=WITHIN_S)
            assert (broken_off.code, refusal in broken_off.err) == (1, True), broken_off.err
        missing = await second.run("restore", str(tmp_path), within_s=WITHIN_S)
        assert (missing.code, "holds no complete backup" in missing.err) == (1, True)
