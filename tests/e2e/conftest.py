"""One running system for most tests here: all services in one process, and a second gateway in another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from contracts.topology import JOBS
from tests.support.extension_client import Extension
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Sites
from tests.support.system import Process, System, show_logs, system, until

CREDIT_CAP = 3
KEY = "oe_the-key-of-this-instance"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    show_logs(report)
    return report


@dataclass(frozen=True)
class World:
    """The system, the sites it asks, and a look behind its back."""

    system: System
    sites: Sites
    oracle: Oracle
    second: Process

    def reader(self, *, address: str = "203.0.113.7", **given: str) -> Extension:
        """Somebody without an instance key; all come through a proxy that the gateway trusts."""
        return Extension(self.system.url, address=address, **given)

    def member(self, **given: str) -> Extension:
        """Somebody with the instance key."""
        return self.reader(api_key=KEY, **given)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system."""
    async with (
        Sites() as sites,
        system(
            tmp_path_factory.mktemp("system"),
            OPENERRATA_VERIFIER_WIKIPEDIA_URL=f"{sites.url}/w/api.php",
            OPENERRATA_VERIFIER_LESSWRONG_URL=f"{sites.url}/graphql",
            OPENERRATA_VERIFIER_SUBSTACK_URL=sites.url,
            OPENERRATA_GATEWAY_TRUSTED_PROXIES="1",
            OPENERRATA_PROJECTOR_IP_RANGE_CREDIT_CAP=str(CREDIT_CAP),
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running,
    ):
        await running.up()
        added = await running.run("keys", "add", "tests", "--key", KEY)
        assert (added.code, added.out.strip()) == (0, KEY), added.err
        second = await running.up("gateway", name="second-gateway")
        async with oracle(running.database_url, running.nats_url) as looking:

            async def is_swept() -> bool:
                return (await looking.settled())[JOBS.name] > 0

            await until(is_swept, "the curator has swept once, so that it changes nothing under a test")
            yield World(running, sites, looking, second)
