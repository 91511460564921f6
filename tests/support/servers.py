"""Real servers for tests: each worker process runs its own, each server starts when a test first asks for it.

Tests share a server but never data: a database is a copy of a prepared one, a bucket is new, a NATS server (30 ms) is
the test's own. A server shared between workers would die with the worker that started it, under the others' tests.
Loaded as a pytest plugin, or used through the plain functions.
"""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString, Self

import psycopg
import pytest
from minio import Minio
from psycopg import sql
from sqlalchemy import make_url

from kit.embedded import EmbeddedStack, Endpoints, ServiceName

Prepare = Callable[[str], None]
"""Brings an empty database, given by its URL, to the state that tests start from."""


@dataclass(frozen=True, slots=True)
class S3:
    """A bucket of one test and the keys to it."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str


class Servers:
    """The servers of one test process, started when first asked for; nothing in them survives the session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[ServiceName, EmbeddedStack] = {}
        self._templates: dict[Prepare, str] = {}

    def _start(self, name: ServiceName) -> Endpoints:
        if name not in self._running:
            server = EmbeddedStack(self._folder / name, durable=False, services=(name,))
            server.start()
            self._running[name] = server
        return self._running[name].endpoints

    @property
    def nats_url(self) -> str:
        """One NATS for the whole session, for tests that need no stream of a fixed name."""
        return self._start("nats").nats_url

    @property
    def admin_url(self) -> str:
        """The database server's own database, as its superuser."""
        return self._start("postgres").database_url

    @contextlib.contextmanager
    def database(self, prepare: Prepare | None = None) -> Iterator[str]:
        """A database of one's own: empty, or a copy of one that `prepare` has brought up once for the session."""
        template = self._template(prepare) if prepare else "template1"
        url = self._create_database(f"test_{uuid.uuid4().hex}", template)
        try:
            yield url
        finally:
            self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", make_url(url).database or "")

    def _template(self, prepare: Prepare) -> str:
        if prepare not in self._templates:
            name = f"template_{uuid.uuid4().hex}"
            prepare(self._create_database(name, "template1"))
            self._close_sessions(name)
            self._templates[prepare] = name
        return self._templates[prepare]

    def _create_database(self, name: str, template: str) -> str:
        self._execute("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, template)
        return make_url(self.admin_url).set(database=name).render_as_string(hide_password=False)

    def _admin(self) -> psycopg.Connection:
        conninfo = make_url(self.admin_url).set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(conninfo, autocommit=True)

    def _execute(self, statement: LiteralString, *names: str) -> None:
        with self._admin() as admin:
            admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _close_sessions(self, database: str) -> None:
        """A database that a pool still holds open cannot be copied."""
        with self._admin() as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (database,)
            )

    def bucket(self) -> S3:
        """A new empty bucket; it goes with the server."""
        at = self._start("s3")
        name = f"test-{uuid.uuid4().hex}"
        client = Minio(at.s3_endpoint.removeprefix("http://"), at.s3_access_key, at.s3_secret_key, secure=False)
        client.make_bucket(name)
        return S3(at.s3_endpoint, at.s3_access_key, at.s3_secret_key, name)

    def stop(self) -> None:
        """Stop what was started."""
        for server in self._running.values():
            server.stop()
        self._running.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextlib.contextmanager
def nats_server(folder: Path, *, durable: bool = False) -> Iterator[EmbeddedStack]:
    """A NATS server of one's own, empty, on its own port; stop() and start() keep its data and its address.

    It is killed in the end: closing streams that nothing reads again takes it 0.3 s.
    """
    with EmbeddedStack(folder / "nats-server", durable=durable, services=("nats",)) as server:
        try:
            yield server
        finally:
            for pid in server.pids.values():
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The servers of this test process."""
    with Servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture
def nats_url(tmp_path: Path) -> Iterator[str]:
    """A NATS server of the test's own."""
    with nats_server(tmp_path) as server:
        yield server.endpoints.nats_url


@pytest.fixture(scope="session")
def prepare_database() -> Prepare | None:
    """Overridden where tests want more than an empty database."""
    return None


@pytest.fixture
def database_url(stack: Servers, prepare_database: Prepare | None) -> Iterator[str]:
    """A database of the test's own."""
    with stack.database(prepare_database) as url:
        yield url


@pytest.fixture
def s3(stack: Servers) -> S3:
    """A bucket of the test's own."""
    return stack.bucket()
