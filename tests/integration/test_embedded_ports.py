"""A port that was free a moment ago: somebody else may be faster, and must not be taken for our own server."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from kit.embedded import EmbeddedError
from kit.embedded.child import Child, Program
from kit.embedded.nats import Nats
from kit.embedded.ports import GRPC_OFFSET, LOOPBACK, POLL_S, are_free, ensure_ports, listening, listens
from kit.embedded.seaweedfs import SeaweedFs
from kit.embedded.server import Endpoints, Server, ServerHome, wait_until_ready
from tests.support.servers import nats_server


class Scripted:
    """A server that ends at once so many times, then stays; it is ready when it stays, or never."""

    def __init__(self, folder: Path, *, ends: int, taken: bool = True, ever_ready: bool = True) -> None:
        self._folder, self._ends, self._taken, self._ever_ready = folder, ends, taken, ever_ready
        self.children: list[Child] = []
        self.looks = 0

    def start(self) -> Child:
        command = ("false",) if len(self.children) < self._ends else ("sleep", "60")
        self.children.append(Child(Program("scripted", command, log=self._folder / "log", cwd=self._folder)))
        return self.children[-1]

    def ready(self) -> bool:
        self.looks += 1
        return self._ever_ready and len(self.children) > self._ends

    def ports_taken(self) -> bool:
        return self._taken

    def add_endpoints(self, endpoints: Endpoints) -> Endpoints:
        return endpoints

    def clean_up(self) -> None:
        """Nothing is left."""

    def stop(self) -> None:
        for child in self.children:
            child.ask_to_stop()
            child.wait_stopped(5)


def test_a_server_that_lost_its_ports_is_started_again(tmp_path: Path) -> None:
    server = Scripted(tmp_path, ends=2)
    running: dict[Child, Server] = {server.start(): server}
    wait_until_ready(running, 10)
    assert len(server.children) == 3
    assert list(running) == server.children[-1:]
    server.stop()


@pytest.mark.parametrize(
    ("server", "starts"), [({"ends": 1, "taken": False}, 1), ({"ends": 99}, 6)], ids=["not the ports", "too often"]
)
def test_a_server_that_ends_otherwise_is_a_failure(tmp_path: Path, server: dict[str, int], starts: int) -> None:
    scripted = Scripted(tmp_path, ends=server["ends"], taken=bool(server.get("taken", True)))
    with pytest.raises(EmbeddedError, match="scripted ended with code 1"):
        wait_until_ready({scripted.start(): scripted}, 10)
    assert len(scripted.children) == starts


def test_a_server_that_is_never_ready_is_a_failure(tmp_path: Path) -> None:
    scripted = Scripted(tmp_path, ends=0, ever_ready=False)
    with pytest.raises(EmbeddedError, match="not ready in time"):
        wait_until_ready({scripted.start(): scripted}, 0.05)
    scripted.stop()


class Clock:
    """Time that passes only where it is slept."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_server_is_asked_ever_more_rarely_whether_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kit.embedded.server.time", Clock())
    scripted = Scripted(tmp_path, ends=0, ever_ready=False)
    with pytest.raises(EmbeddedError, match="not ready in time"):
        wait_until_ready({scripted.start(): scripted}, 1)
    assert 15 < scripted.looks < 40
    scripted.stop()


def test_the_list_of_connections_is_read_only_once_the_broker_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bool] = []

    def noted(pid: int, ports: tuple[int, ...]) -> bool:
        read.append(listens(pid, ports))
        return read[-1]

    monkeypatch.setattr("kit.embedded.nats.listens", noted)
    with nats_server(tmp_path):
        assert read == [True]


def test_a_socket_belongs_to_the_process_that_holds_it() -> None:
    with socket.create_server((LOOPBACK, 0)) as ours:
        port = ours.getsockname()[1]
        assert (LOOPBACK, port) in listening(os.getpid())
        assert listens(os.getpid(), (port,))
        assert not listens(os.getppid(), (port,))
        assert not are_free((port,))
    assert not listens(os.getpid(), (port,))


def test_the_ports_of_a_server_that_is_just_ending_are_waited_for(tmp_path: Path) -> None:
    record = tmp_path / "ports.json"
    ports = ensure_ports(record, 2)
    ending = socket.create_server((LOOPBACK, ports[1]))
    timer = threading.Timer(0.05, ending.close)
    timer.start()
    assert ensure_ports(record, 2) == ports
    timer.join()


def test_ports_that_stay_taken_are_replaced(tmp_path: Path) -> None:
    record = tmp_path / "ports.json"
    ports = ensure_ports(record, 2)
    with socket.create_server((LOOPBACK, ports[0])):
        others = ensure_ports(record, 2)
        assert ports[0] not in others
    assert ensure_ports(record, 2) == others


def take(stranger: socket.socket, port: int) -> None:
    """Bind a port, which a process that looks for a free one holds for a moment."""
    stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + 30
    while True:
        try:
            stranger.bind((LOOPBACK, port))
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)  # between two tries of the port, as `ensure_ports` does


def test_a_stranger_on_our_port_is_not_our_server(tmp_path: Path) -> None:
    # Bound but not listening: the port still looks free, as in the moment between looking and starting.
    with socket.socket() as stranger, (tmp_path / "lock").open("w") as lock:
        server = Nats(
            ServerHome(tmp_path / "nats", tmp_path / "log", tmp_path, lock.fileno(), durable=False, plain_uid=None)
        )
        running: dict[Child, Server] = {server.start(): server}
        wait_until_ready(running, 10)
        port = int(server.add_endpoints(Endpoints()).nats_url.rpartition(":")[2])
        for child in running:
            child.ask_to_stop()
            child.wait_stopped(5)
        take(stranger, port)
        lost = server.start()
        stranger.listen()
        assert server.add_endpoints(Endpoints()).nats_url.endswith(f":{port}")
        running = {lost: server}
        wait_until_ready(running, 10)
        assert lost not in running
        assert not server.add_endpoints(Endpoints()).nats_url.endswith(f":{port}")
        for child in running:
            child.ask_to_stop()
            child.wait_stopped(5)


@pytest.mark.parametrize("kind", [Nats, SeaweedFs])
def test_a_port_that_was_held_for_a_moment_only_is_no_failure(tmp_path: Path, kind: type[Nats | SeaweedFs]) -> None:
    with socket.socket() as stranger, (tmp_path / "lock").open("w") as lock:
        server = kind(
            ServerHome(tmp_path / "s", tmp_path / "log", tmp_path, lock.fileno(), durable=False, plain_uid=None)
        )
        running: dict[Child, Server] = {server.start(): server}
        wait_until_ready(running, 20)
        addresses = server.add_endpoints(Endpoints())
        port = int((addresses.nats_url or addresses.s3_endpoint).rpartition(":")[2])
        for child in running:
            child.ask_to_stop()
            child.wait_stopped(5)
        take(stranger, port)
        lost = server.start()
        stranger.listen()
        lost.wait_stopped(20)
        stranger.close()
        running = {lost: server}
        wait_until_ready(running, 20)
        assert lost not in running
        assert server.add_endpoints(Endpoints()) == addresses, "the port is free again"
        for child in running:
            child.ask_to_stop()
            child.wait_stopped(5)


def test_a_grpc_port_that_somebody_took_meanwhile_is_replaced(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        server = SeaweedFs(
            ServerHome(tmp_path / "s", tmp_path / "log", tmp_path, lock.fileno(), durable=False, plain_uid=None)
        )
        running: dict[Child, Server] = {server.start(): server}
        wait_until_ready(running, 20)
        (child,) = running
        child.ask_to_stop()
        child.wait_stopped(5)
        s3_port = int(server.add_endpoints(Endpoints()).s3_endpoint.rpartition(":")[2])
        with socket.socket() as stranger:
            take(stranger, s3_port + GRPC_OFFSET)
            lost = server.start()
            stranger.listen()
            running = {lost: server}
            wait_until_ready(running, 20)
        assert lost not in running
        assert not server.add_endpoints(Endpoints()).s3_endpoint.endswith(f":{s3_port}")
        for child in running:
            child.ask_to_stop()
            child.wait_stopped(5)
