"""A job server for each test, and both clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openerrata_client import Client
from tests.client.driven import Pauses, driven
from tests.support.job_server import JobServer, job_server


@pytest.fixture
def server() -> Iterator[JobServer]:
    with job_server() as running:
        yield running


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, server: JobServer, pauses: Pauses) -> Iterator[Client]:
    with driven(kind, server.address, pauses) as found:
        yield found
