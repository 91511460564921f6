"""`openerrata stages` over a real broker: the same fact as the admin route."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from contracts.topology import JOBS
from contracts.v1 import LlmStageConfigured
from kit import topology
from kit.bus import connect
from kit.history import read_latest
from kit.vault import MasterKey
from tests.support.forked import Forked

CHOICES = {"openai gpt-5.4": False, "openai gpt-5.44": True, "google mine": False, "local anything": False}
"""Whether an operator hears that an auditor would ask the model nothing."""

pytest_plugins = ["tests.support.servers"]


async def apply(url: str) -> None:
    async with connect(url, name="test") as bus:
        await topology.apply(bus)


async def read_stored(url: str) -> LlmStageConfigured:
    async with connect(url, name="test") as bus:
        (stored,) = await read_latest(bus, f"{LlmStageConfigured.SUBJECT}.analyse", stream=JOBS)
    assert isinstance(stored.event, LlmStageConfigured)
    return stored.event


@pytest.mark.requirement("FH-27", "FH-107")
def test_an_operator_changes_a_stage(nats_url: str, tmp_path: Path) -> None:
    """FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    FH-107: An unknown provider falls back, or is 400 where it is configured.
    """
    environment = {
        "OPENERRATA_DATABASE_URL": "postgresql://reader@127.0.0.1:9/none",
        "OPENERRATA_NATS_URL": nats_url,
        "OPENERRATA_S3_ENDPOINT": "http://127.0.0.1:9",
        "OPENERRATA_S3_ACCESS_KEY": "none",
        "OPENERRATA_S3_SECRET_KEY": "none",
        "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
        "OPENERRATA_AUDIT_PRICES": '{"openai/gpt-5.4/stage2": 0.045}',
        "OPENERRATA_MODEL_PRICES": '{"mine": {"input_usd": 1, "cached_usd": 1, "output_usd": 1, "search_usd": 0}}',
    }

    def run(*arguments: str) -> tuple[int, str]:
        out = tmp_path / uuid4().hex
        code = Forked(("stages", *arguments), tmp_path, environment, out, out).wait(60)
        return code, out.read_text().strip()

    asyncio.run(apply(nats_url))
    code, shown = run("show")
    assert (code, shown.splitlines()[2].split()) == (
        0,
        ["stage2", "anthropic", "claude-sonnet-5-5", "16,384", "0.3", "$0.081"],
    )
    assert run("set", "stage2", "acme", "gpt-5.4")[0] == 2
    assert run("set", "stage2", "openai", "a model")[0] == 2
    assert run("set", "stage2", "openai", "gpt-5.4", "--max-tokens", "9000")[0] == 0
    assert run("show")[1].splitlines()[2].split() == ["stage2", "openai", "gpt-5.4", "9,000", "0.3", "$0.045"]
    stored = asyncio.run(read_stored(nats_url))
    assert (stored.by, stored.follows, stored.temperature) == (UUID(int=0), 0, 0.3)
    warned = {name: "no price is known" in run("set", "stage1", *name.split())[1] for name in CHOICES}
    assert warned == CHOICES
