"""The first command a newcomer runs, and what a second run finds."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import psutil
import pytest

from services.commands.demo_audit import AUDITED
from services.commands.demo_site import EXPECTED
from tests.support.system import system

pytestmark = [pytest.mark.asyncio(loop_scope="function"), pytest.mark.xdist_group("e2e-provider")]

OF_ANOTHER_INSTANCE = {
    "OPENERRATA_NATS_URL": "nats://127.0.0.1:9",
    "OPENERRATA_NATS_MONITOR_URL": "http://127.0.0.1:9",
    "OPENERRATA_NATS_REPLICAS": "3",
    "OPENERRATA_S3_BUCKET": "elsewhere",
    "OPENERRATA_INVESTIGATOR_MODEL": "anthropic",
    "OPENERRATA_GATEWAY_HOST": "0.0.0.0",
    "OPENERRATA_ENCRYPTION_KEYS": "none",
}


@pytest.mark.requirement("2.6-07", "2.6-13")
async def test_the_demo_shows_the_whole_way_and_remembers_it(tmp_path: Path) -> None:
    """2.6-07: A view of a finished version returns its claims.
    2.6-13: A finished result is returned at once.
    """
    async with system(tmp_path) as alone:
        first = await alone.run("demo", "--once", within_s=90)
        assert first.code == 0, first.out + first.err
        assert "offline demo catalogue" in first.out
        assert "\x1b" not in first.out, "colours are for terminals"
        assert "SERVER_VERIFIED" in first.out
        assert all(f"“{sentence}”" in " ".join(first.out.split()) for sentence in EXPECTED)
        assert "investigated earlier" not in first.out
        _, _, audit = first.out.partition("\nREFUTED\n")
        assert "Demonstration, no model was asked." in audit
        shown = [line.split(maxsplit=1) for line in audit.splitlines() if line.endswith(tuple(AUDITED))]
        assert {sentence: verdict for verdict, sentence in shown} == AUDITED
        second = await alone.run("demo", "--once", within_s=90, **OF_ANOTHER_INSTANCE)
        assert second.code == 0, second.out + second.err
        assert "investigated earlier" in second.out
        assert "proposed" not in second.out
        assert "REFUTED (claims analysed earlier)" in second.out
        assert "http://127.0.0.1:" in second.out
        await alone.up("selector")
        refused = await alone.run("demo", "--once", within_s=90)
        assert (refused.code, len(refused.err.splitlines())) == (1, 1), refused.err
        assert "another process uses" in refused.err


async def test_a_demo_whose_broker_ends_says_so_and_fails(tmp_path: Path) -> None:
    async with system(tmp_path) as alone:
        demo = await alone.begin("demo", "--port", "0")
        try:
            assert demo.stdout is not None
            async with asyncio.timeout(90):
                while not (line := (await demo.stdout.readline()).decode()).startswith("  ready"):
                    assert line, "it ended before it was ready"
            (broker,) = (each for each in psutil.Process(demo.pid).children(recursive=True) if "nats" in each.name())
            broker.kill()
            async with asyncio.timeout(60):
                _, error = await demo.communicate()
            assert demo.returncode == 1
            assert error.startswith(b"Error: nats ended"), error
        finally:
            if demo.returncode is None:
                demo.kill()


async def test_the_demo_serves_until_ctrl_c_and_leaves_no_process_behind(tmp_path: Path) -> None:
    async with system(tmp_path) as alone:
        demo = await alone.begin("demo", "--port", "0")
        try:
            assert demo.stdout is not None
            async with asyncio.timeout(90):
                while not (line := (await demo.stdout.readline()).decode()).startswith("  serving"):
                    assert line, "it ended before it served"
            async with httpx.AsyncClient(trust_env=False) as browser:
                assert (await browser.get(f"{line.split()[1]}/health")).status_code == 200
            assert line.split()[-1] == str(alone.data_dir / "logs" / "services.log")
            children = psutil.Process(demo.pid).children(recursive=True)
            assert children, "its servers run"
            demo.send_signal(signal.SIGINT)
            async with asyncio.timeout(60):
                await demo.communicate()
            assert demo.returncode == 0
            assert [child for child in children if child.is_running()] == []
        finally:
            if demo.returncode is None:
                demo.kill()
