"""The interface of an embedded server. The stack never asks which server it is.

A fourth server is a file beside these and a line in `SERVERS`.
"""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kit.embedded.child import Child
from kit.embedded.ports import LOOPBACK

PORT_RESTARTS = 5
POLL_S = 0.01
MAX_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class ServerHome:
    """Folders and options of a server, which writes to these folders only."""

    folder: Path
    log: Path
    sockets: Path
    lock_fd: int
    durable: bool
    plain_uid: int | None


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses of the servers; an address is empty when its server was not started."""

    nats_url: str = ""
    nats_analyst_url: str = ""
    nats_service_urls: dict[str, str] = field(default_factory=dict)
    nats_monitor_url: str = ""
    database_url: str = ""
    s3_endpoint: str = ""
    s3_access_key: str = ""
    s3_secret_key: str = ""
    s3_bucket: str = ""


class Server(Protocol):
    """A server that can be run as a child."""

    def start(self) -> Child:
        """Start the server; it is not ready yet. Called again if it ended early because its ports were taken."""

    def ready(self) -> bool:
        """Whether our own process serves, rather than another one on its ports."""

    def ports_taken(self) -> bool:
        """After an early end: whether another process holds a port, or held it when the server wanted to listen."""

    def add_endpoints(self, endpoints: Endpoints) -> Endpoints:
        """Add the addresses of the server."""

    def clean_up(self) -> None:
        """After the server's end, remove what it leaves outside its home."""


def wait_until_ready(running: dict[Child, Server], timeout_s: float) -> None:
    """Wait until every server is ready; one whose ports were taken is started again, as another child.

    Raises: EmbeddedError when one ends for another reason, or is not ready in time.
    """
    began = time.monotonic()
    restarts_left = PORT_RESTARTS
    waiting = dict(running)
    while waiting:
        for child, server in list(waiting.items()):
            if not child.alive:
                if restarts_left == 0 or not server.ports_taken():
                    raise child.failure()
                restarts_left -= 1
                del waiting[child], running[child]
                restarted = server.start()
                waiting[restarted] = running[restarted] = server
            elif server.ready():
                del waiting[child]
            elif time.monotonic() - began > timeout_s:
                raise child.late()
        if waiting:
            # Each look takes CPU from the servers, so looks become rarer.
            wait_s = min(max(POLL_S, (time.monotonic() - began) / 5), MAX_POLL_S)
            time.sleep(wait_s)  # a start blocks by design, and runs before the event loop


def is_healthy(port: int, path: str) -> bool:
    """Whether a loopback port answers a GET with 200; proxy settings of the environment are ignored."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
