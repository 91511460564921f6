"""What the stack knows of a server: where it may live, and four questions. The stack never asks which server it is.

A fourth server is a file beside these and a line in `SERVERS`; a special case in the stack would be the first of many.
"""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kit.embedded.child import Child
from kit.embedded.errors import EmbeddedError
from kit.embedded.ports import LOOPBACK

PORT_RESTARTS = 5
POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Home:
    """The places and the terms a server is given: it writes nowhere else."""

    folder: Path
    log: Path
    sockets: Path
    lock_fd: int
    durable: bool
    plain_uid: int | None


class Server(Protocol):
    """A server that can be run as a child."""

    def start(self) -> Child:
        """Start it; it is not ready yet. Called again when it ended early because somebody took its ports."""

    def ready(self) -> bool:
        """Whether it serves, asked of our own process and nobody else's."""

    def ports_taken(self) -> bool:
        """After an early end: whether somebody else holds one of its ports, or held it when it wanted to listen."""

    def endpoints(self) -> dict[str, Any]:
        """Its part of the addresses."""

    def tidy(self) -> None:
        """After its end: remove what it leaves outside its home."""


def wait_until_ready(running: dict[Child, Server], timeout_s: float) -> None:
    """Wait until every server is ready; one that lost its ports to somebody is started again, as another child.

    Raises: EmbeddedError when one ends for another reason, or is not ready in time.
    """
    deadline = time.monotonic() + timeout_s
    restarts_left = PORT_RESTARTS
    waiting = dict(running)
    while waiting:
        for child, server in list(waiting.items()):
            if not child.alive:
                if restarts_left == 0 or not server.ports_taken():
                    raise child.failure()
                restarts_left -= 1
                del waiting[child], running[child]
                again = server.start()
                waiting[again] = running[again] = server
            elif server.ready():
                del waiting[child]
            elif time.monotonic() > deadline:
                raise EmbeddedError(f"{child.program.name} is not ready in time; see {child.program.log}")
        time.sleep(POLL_S)  # start() blocks by design and is called before the event loop


def answers(port: int, path: str) -> bool:
    """Whether a loopback port answers a GET with 200; proxies of the environment play no part."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
