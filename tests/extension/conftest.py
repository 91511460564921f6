"""One running system for the tests of a worker, and the package of the extension as it was built."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.extension.chromium import EXTENSION, Reader, reader
from tests.support.extension_client import Extension
from tests.support.sites import Sites
from tests.support.system import System, show_logs, system

KEY = "oe_the-key-of-this-instance"
PACE_S = "0.2"
"""A run that a test can act in the middle of."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    show_logs(report)
    return report


@dataclass(frozen=True)
class World:
    """The system, and the sites that it asks."""

    system: System
    sites: Sites

    @property
    def url(self) -> str:
        """The gateway."""
        return self.system.url

    def member(self) -> Extension:
        """Another reader, with the instance's key."""
        return Extension(self.url, api_key=KEY)


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
            OPENERRATA_VERIFIER_BLUESKY_URL=sites.url,
            OPENERRATA_VERIFIER_PLC_URL=sites.url,
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
            OPENERRATA_DEMO_PACE_S=PACE_S,
        ) as running,
    ):
        await running.up()
        added = await running.run("keys", "add", "tests", "--key", KEY)
        assert added.code == 0, added.err
        yield World(running, sites)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built package for Chrome, in a folder of its own: nobody builds it anew under a running browser."""
    built = EXTENSION / ".output" / "chrome-mv3"
    assert (built / "manifest.json").exists(), "build the extension first: cd extension && npm ci && npm run build"
    return shutil.copytree(built, tmp_path_factory.mktemp("package") / "extension")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chromium(package: Path, world: World) -> AsyncIterator[Reader]:
    """A browser whose reader has chosen our server and entered its key."""
    async with reader(package) as running:
        await running.choose(world.url, KEY)
        yield running


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def closed_tabs(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Each test leaves no tab behind."""
    yield
    if "chromium" in request.fixturenames:
        running: Reader = request.getfixturevalue("chromium")
        for page in running.context.pages:
            if page is not running.desk:
                await page.close()
