"""A sealed set of posts over real servers: the decision log holds its hash before it runs, and proves that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kit.database import Database
from kit.settings import SettingsError
from services.commands.reviews.samples import wait_for_projection
from services.curator.record.controls import SqlControls
from tests.bench import bench_cases
from tests.bench.bench_cases import Options
from tests.bench.report import Report
from tests.bench.sealed import commit, require_committed, seal
from tests.bench.test_sealed import POSTS
from tests.integration.test_decision_log import Logged
from tests.support.fakes import StillClock
from tests.support.gateway import migrated, serving
from tests.support.notaries import KEY, OPENED, POLICY, Instance, MemoryObjects
from tests.support.servers import Prepare
from tlog.errors import TlogError
from tlog.keys import Algorithm, SigningKey
from tlog.policy import Log, Policy

pytest_plugins = ["tests.support.servers"]

NOW = datetime.now(UTC)
STRANGER = SigningKey(KEY.name, Algorithm.ED25519, bytes(32))


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def logged(nats_url: str, database_url: str) -> AsyncIterator[Logged]:
    async with serving(nats_url, database_url) as running:
        found = Logged(running, database_url)
        found.notary = Instance(database_url, MemoryObjects())
        await found.tell(OPENED)
        yield found
        await found.notary.close()


@pytest.mark.requirement("TR-54")
async def test_a_set_is_proved_to_be_older_than_its_run(
    logged: Logged, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TR-54: A sealed set of posts is in the decision log before it runs, and anybody can check its file."""
    bus, reader = logged.running.host.bus, Database(database_url, role="reader")
    file = tmp_path / "cases.toml"
    file.write_text(POSTS)
    data = seal(file)
    said = await commit(bus, StillClock(NOW), data, 90)
    assert said.startswith("1 posts, ")
    assert "nothing changed" in await commit(bus, StillClock(NOW), data, 90)
    await wait_for_projection(bus, reader)
    size = await logged.record()
    assert list(await SqlControls(reader).batches()) == [], "it is no list of controls"
    await reader.close()

    answer = await logged.http.get(f"/log/v1/proof/{size - 1}")
    proof, later = answer.content, datetime.now(UTC) + timedelta(minutes=1)
    found = require_committed(data, proof, POLICY, later)
    assert (found.index, [post.id for post in found.posts]) == (size - 1, ["a-joke"])
    assert "said a fish" not in answer.text, "nothing of the posts is public yet"
    for refused, now, why in (
        (data + b"\n", later, "another set"),
        (POSTS.encode(), later, "not sealed"),
        (data, NOW - timedelta(days=1), "is for runs from"),
        (data, NOW + timedelta(days=90, seconds=1), "is for runs from"),
    ):
        with pytest.raises(ValueError, match=why):
            require_committed(refused, proof, POLICY, now)
    opening = (await logged.http.get("/log/v1/proof/0")).content
    with pytest.raises(ValueError, match="of no set of posts"):
        require_committed(data, opening, POLICY, later)
    with pytest.raises(TlogError):
        require_committed(data, proof, Policy(logs=(Log(STRANGER.verifier),)), later)

    (tmp_path / "proof").write_bytes(proof)
    (tmp_path / "policy").write_bytes(bytes(POLICY))
    options = Options(sealed=file, proof=tmp_path / "proof", policy=tmp_path / "policy")
    await asyncio.to_thread(bench_cases.bench, tmp_path, Report(), options)
    printed = capsys.readouterr().out
    assert "posts with known answers, sealed, demo" in printed
    assert f"is leaf {size - 1} of {KEY.name}" in printed
    file.write_bytes(data + b"\n")
    with pytest.raises(SettingsError, match="another set"):
        await asyncio.to_thread(bench_cases.bench, tmp_path, Report(), options)
