"""PostgreSQL as a child on a Unix socket in a private folder, without TCP.

Who can open the folder owns the database, so `trust` is safe and passwords would add nothing; with TCP it would not
be. The cluster is created under a temporary name and renamed when complete, so an interrupted start does no harm.
"""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from kit.embedded.child import Child, Program, run_to_end
from kit.embedded.programs import find_postgres_bin
from kit.embedded.server import Endpoints, ServerHome

DATABASE = "openerrata"
PORT = 5432  # a part of the socket's name: nothing listens on TCP
SMALL = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": PORT,
    "shared_buffers": "96MB",
    "max_connections": 64,
    "max_wal_size": "512MB",
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "max_logical_replication_workers": 0,
    "io_method": "sync",
    "jit": "off",
    "log_checkpoints": "off",
}
LOCALE = ("--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")


class Postgres:
    """One PostgreSQL server with one database."""

    def __init__(self, home: ServerHome) -> None:
        self._home = home

    def start(self) -> Child:
        """Create the cluster if there is none, and start the server; it is not ready yet."""
        if not self._home.folder.exists():
            self._create_cluster()
        self._reset_status_file()
        safety = "on" if self._home.durable else "off"
        settings = SMALL | {"unix_socket_directories": self._home.sockets}
        settings |= dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), safety)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._child = Child(self._program("postgres", "-D", str(self._home.folder), *options))
        return self._child

    @property
    def _status_file(self) -> Path:
        return self._home.folder / "postmaster.pid"

    def _reset_status_file(self) -> None:
        """Replace the process id in a killed run's file by our own; PostgreSQL ignores that of its parent.

        The old id may belong to any process by now. The rest of the file must stay: it names the shared memory that the
        killed run left.
        """
        if self._status_file.exists():
            rest = self._status_file.read_text().splitlines(keepends=True)[1:]
            self._status_file.write_text("".join([f"{os.getpid()}\n", *rest]))

    def _program(self, name: str, *arguments: str) -> Program:
        return Program(
            name="postgres",
            argv=(str(find_postgres_bin() / name), *arguments),
            log=self._home.log,
            cwd=Path("/"),
            stop_signal=signal.SIGINT,  # ends sessions instead of waiting for them
            uid=self._home.plain_uid,
            keep_open=(self._home.lock_fd,),
        )

    def _create_cluster(self) -> None:
        fresh = self._home.folder.with_name("postgres.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        if self._home.plain_uid is not None:
            os.chown(fresh, self._home.plain_uid, -1)
        options = ["--username=postgres", "--auth=trust", "--no-instructions", *LOCALE]
        if not self._home.durable:
            options.append("--no-sync")
        run_to_end(self._program("initdb", "-D", str(fresh), *options))
        fresh.rename(self._home.folder)

    def ready(self) -> bool:
        """Whether the server accepts connections and the database exists."""
        try:
            status = self._status_file.read_text().splitlines()
        except FileNotFoundError:
            return False
        if len(status) < 8 or status[0] != str(self._child.pid) or status[7].strip() != "ready":
            return False
        try:
            self._ensure_database()
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_database(self) -> None:
        server = make_conninfo("", host=str(self._home.sockets), port=PORT, user="postgres", dbname="postgres")
        with psycopg.connect(server, autocommit=True) as connection:
            if connection.execute("SELECT FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def ports_taken(self) -> bool:
        """False: this PostgreSQL listens on a socket file, not on a port."""
        return False

    def add_endpoints(self, endpoints: Endpoints) -> Endpoints:
        """Add the database for SQLAlchemy; another role is another name before the @."""
        host = quote(str(self._home.sockets), safe="/")
        return replace(endpoints, database_url=f"postgresql+psycopg://postgres@/{DATABASE}?host={host}&port={PORT}")

    def clean_up(self) -> None:
        """Do nothing: PostgreSQL leaves no files elsewhere."""
