"""A server's ports are chosen once per data folder, so that its addresses survive restarts.

They are on loopback, below the kernel's range for outgoing connections. A port is only presumed free until the server
listens on it: `listens` checks whose socket it is, and the caller chooses again when another process was faster.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import time
from pathlib import Path

from kit.embedded.files import write_private

LOOPBACK = "127.0.0.1"
GRPC_OFFSET = 10_000  # SeaweedFS serves gRPC on port + 10000 and one of its clients insists on it
RELEASE_TIMEOUT_S = 1.0
POLL_S = 0.01
LOWEST, HIGHEST = 20_000, 22_700  # with the offset still below 32768, where outgoing ports begin


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do: TIME_WAIT is no obstacle
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def are_free(ports: tuple[int, ...]) -> bool:
    """Whether all ports and their gRPC ports are free."""
    return all(_is_free(port) and _is_free(port + GRPC_OFFSET) for port in ports)


def _choose(count: int) -> tuple[int, ...]:
    chosen: list[int] = []
    while len(chosen) < count:
        port = random.randint(LOWEST, HIGHEST)  # noqa: S311  spread, not secrecy
        if port not in chosen and are_free((port,)):
            chosen.append(port)
    return tuple(chosen)


def ensure_ports(record: Path, count: int) -> tuple[int, ...]:
    """The ports recorded in a file if they become free within a second, else new ones, which are then recorded."""
    try:
        recorded = tuple(int(port) for port in json.loads(record.read_text()))
    except (OSError, ValueError, TypeError):
        recorded = ()
    # A killed server's sockets may be closed a moment after its lock on the folder, and its addresses shall survive.
    deadline = time.monotonic() + RELEASE_TIMEOUT_S
    while len(recorded) == count:
        if are_free(recorded):
            return recorded
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_S)  # a start blocks, and a killed server closes its sockets within milliseconds
    chosen = _choose(count)
    write_private(record, json.dumps(chosen))
    return chosen


def listening(pid: int) -> set[tuple[str, int]]:
    """The IPv4 addresses and ports on which a process listens.

    Source: proc_pid_net(5); state 0A is LISTEN, addresses are little-endian hexadecimal.
    """
    sockets = set()
    try:
        for fd in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                sockets.add(os.readlink(fd.path))
        table = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    except OSError:  # it has just ended
        return set()
    found = set()
    for fields in map(str.split, table):
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            address, port = fields[1].split(":")
            found.add((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def listens(pid: int, ports: tuple[int, ...]) -> bool:
    """Whether a process itself listens on all the ports."""
    return {(LOOPBACK, port) for port in ports} <= listening(pid)
