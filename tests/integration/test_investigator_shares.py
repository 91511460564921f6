"""Runs that readers pay for and runs that the instance pays for have slots of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from contracts.v1 import InvestigationDrafted, VersionRegistered
from contracts.v1.ids import investigation_id, post_id, version_id
from contracts.v1.investigation import KeySource
from contracts.v1.parts import PostRef
from kit.bus import Bus
from kit.history import read_history
from kit.host import Host
from tests.integration.readmodel_tables import prepare
from tests.integration.test_investigator_service import registered, service
from tests.support.factories import requested
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, message, openai_server
from tests.support.servers import Prepare, Servers
from tests.support.sites import Sites
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]

PATIENCE_S: Final = 5
STALLED: Final = 60
KEY: Final = "sk-of-a-reader-0123456789abcdefgh"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def page(number: int, shown: str = "") -> VersionRegistered:
    """A post of its own."""
    version = registered(f"<p>Page {number}.</p>{shown}")
    post = PostRef(platform="LESSWRONG", external_id=f"post{number:013}")
    return version.model_copy(
        update={
            "post": post,
            "post_id": post_id(post),
            "version_id": version_id(post_id(post), version.version_hash),
        }
    )


class Provider(OpenAIServer):
    """Finds nothing, every time."""

    def turn(self, request: Request) -> Turn:
        return Answer((message("done"),))


def pictures(origin: str, number: int) -> str:
    """Ten pictures that nobody else has."""
    return "".join(f'<p>x</p><img src="{origin}/{number}-{picture}.png">' for picture in range(10))


async def ask(host: Host, version: VersionRegistered, paid_by: KeySource) -> None:
    """Publish a version and a request for its run."""
    run = investigation_id(version.version_id, "FACT_CHECK")
    attachment = uuid4() if paid_by == "USER" else None
    if attachment is not None:
        await host.user_keys.attach(run, attachment, KEY)
    await host.bus.publish(version, correlation=uuid4())
    request = requested(
        investigation_id=run,
        version_id=version.version_id,
        post_id=version.post_id,
        key_source=paid_by,
        attachment=attachment,
    )
    await host.bus.publish(request, correlation=uuid4())


async def drafted(bus: Bus, version: VersionRegistered) -> None:
    """Wait for a run's draft."""
    run = str(investigation_id(version.version_id, "FACT_CHECK"))

    async def is_there() -> bool:
        return any(isinstance(past.envelope.event, InvestigationDrafted) for past in await read_history(bus, run))

    await until(is_there, "the run has its draft", within_s=PATIENCE_S)


@pytest.mark.parametrize(("flooding", "honest"), [("USER", "INSTANCE"), ("INSTANCE", "USER")])
async def test_sixty_runs_with_endless_pictures_do_not_hold_up_a_run_that_another_pays_for(
    tmp_path: Path,
    stack: Servers,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    flooding: KeySource,
    honest: KeySource,
) -> None:
    async with Sites() as sites, openai_server(Provider()) as provider:
        monkeypatch.setenv("OPENERRATA_INVESTIGATOR_PICTURE_ORIGIN", sites.url)
        sites.fail("slow")
        async with service(tmp_path, stack, provider, database_url) as host:
            try:
                for number in range(STALLED):
                    await ask(host, page(number, pictures(sites.url, number)), flooding)
                await sites.seen(4, within_s=60)
                plain = page(STALLED)
                await ask(host, plain, honest)
                await drafted(host.bus, plain)
            finally:
                sites.heal()
