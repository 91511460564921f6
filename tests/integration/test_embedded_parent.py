"""The process that runs the servers ends: in order, by a signal, or killed; nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kit.embedded import DataDirInUse, EmbeddedStack, Endpoints, running_endpoints

ROOT = Path(__file__).parents[2]
HOST = """
import json, signal, sys
from dataclasses import asdict
from pathlib import Path
from kit.embedded import EmbeddedStack
with EmbeddedStack(Path(sys.argv[1]), services=sys.argv[2:]) as stack:
    print(json.dumps([asdict(stack.endpoints), stack.pids]), flush=True)
    signal.pause()
"""
ALL = ("nats", "postgres", "s3")


@contextlib.contextmanager
def host(data: Path, *services: str) -> Iterator[tuple[subprocess.Popen[str], Endpoints, list[psutil.Process]]]:
    """A process of its own that runs servers, with its addresses and every process below it."""
    command = [sys.executable, "-c", HOST, str(data), *services]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            endpoints, pids = json.loads(process.stdout.readline())
            family = psutil.Process(process.pid).children(recursive=True)
            assert {member.pid for member in family} >= set(pids.values())
            yield process, Endpoints(**endpoints), family
        finally:
            process.kill()


def survivors(family: list[psutil.Process], timeout_s: float = 15.0) -> list[psutil.Process]:
    """Who still runs when the time is over."""
    deadline = time.monotonic() + timeout_s
    while alive := [one for one in family if runs(one)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return alive


def runs(process: psutil.Process) -> bool:
    """Whether it is there and not just an unread exit code."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_a_parent_that_had_no_time_to_stop_it(tmp_path: Path, end: signal.Signals) -> None:
    with host(tmp_path / "data", *ALL) as (process, _, family):
        process.send_signal(end)
        process.wait(15)
        assert survivors(family) == []
    assert running_endpoints(tmp_path / "data") is None


def test_ctrl_c_reaches_only_the_parent_which_stops_in_order(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with host(data, *ALL) as (process, endpoints, family):
        assert all(os.getsid(member.pid) != os.getsid(process.pid) for member in family)
        process.send_signal(signal.SIGINT)
        process.wait(15)
        assert survivors(family, 0.1) == []
    assert not (data / "run").exists()
    grpc_port = int(endpoints.s3_endpoint.rpartition(":")[2]) + 10_000
    assert list(Path("/tmp").glob(f"seaweedfs-*-grpc-{grpc_port}.sock")) == []
    assert not (data / "endpoints.json").exists()


def test_a_start_right_after_a_kill_waits_for_the_old_servers_and_keeps_the_addresses(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with host(data, *ALL) as (process, endpoints, family):
        process.kill()
        process.wait(15)
        with EmbeddedStack(data) as stack:
            assert survivors(family, 0.1) == []
            assert stack.endpoints == endpoints


def test_a_pid_file_of_a_killed_database_does_not_block_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with EmbeddedStack(data, services=("postgres",)) as stack:
        status = (data / "postgres" / "postmaster.pid").read_text()
        os.kill(stack.pids["postgres"], signal.SIGKILL)
    ours = status.splitlines()
    ours[0] = str(os.getppid())  # the number now belongs to somebody who lives
    (data / "postgres" / "postmaster.pid").write_text("\n".join(ours) + "\n")
    with EmbeddedStack(data, services=("postgres",)) as stack:
        assert stack.pids["postgres"] != os.getppid()


def test_a_second_process_is_told_who_holds_the_folder_and_where_the_servers_are(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert running_endpoints(data) is None
    with host(data, "nats") as (process, endpoints, _):
        with pytest.raises(DataDirInUse, match=f"{data} is in use by process {process.pid}"):
            EmbeddedStack(data).start()
        assert running_endpoints(data) == endpoints
    assert running_endpoints(data) is None
