"""The servers we run ourselves: what they keep, whom they serve, what they tell."""

from __future__ import annotations

import asyncio
import http.client as http_client
import io
import json
import os
import pwd
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nats
import psutil
import pytest
from minio import Minio
from sqlalchemy import create_engine, text

from kit.embedded import DataDirInUse, EmbeddedError, EmbeddedStack, Endpoints, running_endpoints
from kit.embedded.ports import GRPC_OFFSET
from kit.embedded.privileges import CAP_DAC_READ_SEARCH, make_child_hook

HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""How a client of gRPC begins."""


async def write_everywhere(at: Endpoints) -> None:
    """One fact in each server."""
    client = await nats.connect(at.nats_url)
    await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
    await client.jetstream().publish("kept", b"event")
    await client.close()
    engine = create_engine(at.database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE kept AS SELECT 'row' AS word"))
    engine.dispose()
    s3(at).put_object(at.s3_bucket, "kept", io.BytesIO(b"bytes"), 5)


async def read_everywhere(at: Endpoints) -> tuple[bytes | None, str, bytes]:
    """The facts written."""
    client = await nats.connect(at.nats_url)
    event = (await client.jetstream().get_msg("KEPT", 1)).data
    await client.close()
    engine = create_engine(at.database_url)
    with engine.begin() as connection:
        row = connection.execute(text("SELECT word FROM kept")).scalar_one()
    engine.dispose()
    with s3(at).get_object(at.s3_bucket, "kept") as answer:
        return event, row, answer.read()


def s3(at: Endpoints) -> Minio:
    """A client for the S3 http."""
    return Minio(at.s3_endpoint.removeprefix("http://"), at.s3_access_key, at.s3_secret_key, secure=False)


def listeners(pid: int) -> list[str]:
    """Addresses on which a process and its children listen, as the kernel tells somebody else."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    open_now = [entry for member in family for entry in member.net_connections("inet")]
    return [entry.laddr.ip for entry in open_now if entry.status == psutil.CONN_LISTEN]


async def test_a_restart_keeps_data_and_addresses(tmp_path: Path) -> None:
    async def kept(data: Path) -> bool:
        stack = EmbeddedStack(data)
        with stack:
            before = stack.endpoints
            await write_everywhere(before)
        with stack:
            assert await read_everywhere(stack.endpoints) == (b"event", "row", b"bytes")
            return stack.endpoints == before

    # The servers of a test beside this one may take a port between stop and start.
    assert await kept(tmp_path / "data") or await kept(tmp_path / "again")


async def test_data_survives_a_change_of_ports(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path / "data")
    with stack:
        before = stack.endpoints
        await write_everywhere(before)
    for record in (tmp_path / "data").rglob("ports.json"):
        record.unlink()
    with stack:
        assert stack.endpoints.s3_endpoint != before.s3_endpoint
        assert await read_everywhere(stack.endpoints) == (b"event", "row", b"bytes")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """All servers, for tests that only look."""
    with EmbeddedStack(tmp_path_factory.mktemp("running") / "data", durable=False) as stack:
        yield stack


def test_everything_listens_on_loopback_only(running: EmbeddedStack) -> None:
    heard = {name: set(listeners(pid)) for name, pid in running.pids.items()}
    assert heard == {"nats": {"127.0.0.1"}, "seaweedfs": {"127.0.0.1"}, "postgres": set()}


def test_nothing_reports_home(running: EmbeddedStack) -> None:
    assert "-master.telemetry=false" in psutil.Process(running.pids["seaweedfs"]).cmdline()


def test_no_server_sees_our_environment(running: EmbeddedStack) -> None:
    ours = {"PATH", "LANG", "GOMEMLIMIT", "HOME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    for pid in running.pids.values():
        assert set(psutil.Process(pid).environ()) <= ours


def test_everything_in_the_data_folder_is_private(running: EmbeddedStack) -> None:
    data = running.data_dir
    open_to_others = [path for path in (data, *data.rglob("*")) if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    assert open_to_others == []
    for file in (data / "endpoints.json", data / "logs" / "nats.log", data / "logs" / "seaweedfs.log"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_data_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    logs = tmp_path / "data" / "logs"
    logs.mkdir(parents=True, mode=0o755)
    (logs / "nats.log").write_text("of an earlier version\n")
    with EmbeddedStack(tmp_path / "data", durable=False, services=("nats",)):
        for path in (logs.parent, logs, logs / "nats.log"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.skipif(os.geteuid() != 0, reason="servers run as whoever started them")
def test_no_server_runs_as_root(running: EmbeddedStack) -> None:
    for name, pid in running.pids.items():
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        assert "0" not in status["Uid"].split(), name
        assert int(status["CapEff"], 16) == 1 << CAP_DAC_READ_SEARCH, "it reads where it is led, and writes its own"


@pytest.mark.skipif(os.geteuid() != 0, reason="servers run as whoever started them")
def test_a_server_starts_from_a_home_that_is_private_to_root(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    program = home / "program"
    program.touch(mode=0o755)
    # What initdb does before it starts a program.
    looking = (
        "import os, sys; sys.exit(not os.access(sys.argv[1], os.R_OK | os.X_OK))"  # as initdb does before it starts one
    )
    hook = make_child_hook(signal.SIGTERM, pwd.getpwnam("nobody").pw_uid)
    subprocess.run([sys.executable, "-c", looking, program], check=True, preexec_fn=hook)


def doors(server: EmbeddedStack) -> tuple[list[int], list[int]]:
    """The ports of SeaweedFS's master, volume, filer and admin, and those of their gRPC."""
    master, volume, filer, s3_port, admin = json.loads((server.data_dir / "seaweedfs" / "ports.json").read_text())
    return [master, volume, filer, admin], [port + GRPC_OFFSET for port in (master, volume, filer, s3_port, admin)]


STATUS = ("/", "/ui/index.html")
"""The master's page about itself, which leads nowhere."""
INNER = (
    ("GET", "/"),
    ("GET", "/dir/assign"),
    ("GET", "/dir/lookup?volumeId=1"),
    ("GET", "/dir/status"),
    ("GET", "/vol/status"),
    ("GET", "/vol/grow?count=1"),
    ("GET", "/col/delete?collection=openerrata"),
    ("GET", "/buckets/openerrata/"),
    ("GET", "/buckets/openerrata/kept"),
    ("PUT", "/buckets/openerrata/kept"),
    ("DELETE", "/buckets/openerrata/kept"),
    ("POST", "/submit"),
    ("GET", "/1,0123456789"),
    ("PUT", "/1,0123456789"),
    ("DELETE", "/1,0123456789"),
    ("GET", "/ui/index.html"),
)


def test_the_blob_stores_inner_doors_are_closed(running: EmbeddedStack) -> None:
    s3(running.endpoints).put_object(running.endpoints.s3_bucket, "kept", io.BytesIO(b"bytes"), 5)
    http, grpc = doors(running)
    for port in http:
        for method, path in INNER:
            connection = http_client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request(method, path, body=b"x" if method != "GET" else None)
            status = connection.getresponse().status
            connection.close()
            told = (200,) if port == http[0] and path in STATUS else ()
            assert status in (400, 401, 403, 404, 405, *told), f"{method} {port} {path}: {status}"
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    stranger.set_alpn_protocols(["h2"])
    for port in grpc:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            plain.sendall(HTTP2)
            assert b"\x04" not in plain.recv(1_024)[3:4], "settings would mean that it speaks"
        with (
            pytest.raises((ssl.SSLError, ConnectionError)),
            socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
            stranger.wrap_socket(plain) as wrapped,
        ):
            wrapped.sendall(HTTP2)
            while wrapped.recv(1_024):
                pass
            raise ConnectionError("closed without a word")
    with s3(running.endpoints).get_object(running.endpoints.s3_bucket, "kept") as answer:
        assert answer.read() == b"bytes"


def test_the_blob_store_reads_what_was_stored_under_earlier_keys(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path / "data", services=("s3",))
    with stack:
        before = (stack.data_dir / "seaweedfs" / ".seaweedfs" / "security.toml").read_text()
        s3(stack.endpoints).put_object(stack.endpoints.s3_bucket, "kept", io.BytesIO(b"bytes"), 5)
    with stack:
        assert (stack.data_dir / "seaweedfs" / ".seaweedfs" / "security.toml").read_text() != before
        with s3(stack.endpoints).get_object(stack.endpoints.s3_bucket, "kept") as answer:
            assert answer.read() == b"bytes"


def test_where_the_servers_are_is_written_down_while_they_run(tmp_path: Path) -> None:
    with EmbeddedStack(tmp_path, durable=False, services=("nats",)) as stack:
        assert running_endpoints(tmp_path) == stack.endpoints
    assert running_endpoints(tmp_path) is None
    with pytest.raises(EmbeddedError, match="not running"):
        _ = stack.endpoints


@pytest.mark.parametrize("durable", [True, False])
def test_durable_means_that_an_acknowledgement_is_on_the_disk(tmp_path: Path, durable: bool) -> None:
    with EmbeddedStack(tmp_path / "data", durable=durable, services=("nats", "postgres")) as stack:
        with urllib.request.urlopen(f"{stack.endpoints.nats_monitor_url}/varz") as answer:
            broker = json.load(answer)
        assert broker["jetstream"]["config"].get("sync_always", False) is durable
        assert broker["max_payload"] == 8 * 1024 * 1024
        engine = create_engine(stack.endpoints.database_url)
        with engine.begin() as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                assert connection.execute(text(f"SHOW {setting}")).scalar_one() == ("on" if durable else "off")
        engine.dispose()


def test_a_port_somebody_took_meanwhile_is_replaced(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path / "data", durable=False, services=("nats",))
    with stack:
        before = stack.endpoints.nats_url
    with socket.create_server(("127.0.0.1", int(before.rpartition(":")[2]))), stack:
        assert stack.endpoints.nats_url != before
        replaced = stack.endpoints.nats_url
    with stack:
        assert stack.endpoints.nats_url == replaced


def test_a_path_too_long_for_a_socket_is_no_obstacle(tmp_path: Path) -> None:
    data = tmp_path / ("long, and 'quoted' " + "x" * 100)
    with EmbeddedStack(data, durable=False, services=("postgres",)) as stack:
        engine = create_engine(stack.endpoints.database_url)
        with engine.begin() as connection:
            folder = Path(connection.execute(text("SHOW unix_socket_directories")).scalar_one())
        engine.dispose()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "nats").mkdir(parents=True)
    (data / "nats" / "jetstream").write_text("not a folder")
    stack = EmbeddedStack(data, durable=False, services=("nats", "postgres"))
    with pytest.raises(EmbeddedError, match=r"nats ended with code 1;[^$]*storage directory"):
        stack.start()
    assert stack.pids == {}
    assert running_endpoints(data) is None
    (data / "nats" / "jetstream").unlink()
    with stack:
        assert running_endpoints(data) == stack.endpoints


def test_a_folder_that_is_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(EmbeddedError, match="cannot run servers in"):
        EmbeddedStack(tmp_path / "data").start()


def test_the_same_folder_twice_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with EmbeddedStack(tmp_path / "data", durable=False, services=("nats",)) as stack:
        with pytest.raises(DataDirInUse, match=f"in use by process {os.getpid()}"):
            EmbeddedStack(tmp_path / "data", durable=False, services=("nats",)).start()
        with pytest.raises(EmbeddedError, match="running already"):
            stack.start()
        assert running_endpoints(tmp_path / "data") == stack.endpoints


def test_a_thread_must_not_start_servers_since_they_would_die_with_it(tmp_path: Path) -> None:
    refusals: list[str] = []

    def try_it() -> None:
        try:
            EmbeddedStack(tmp_path / "data", durable=False, services=("nats",)).start()
        except EmbeddedError as refusal:
            refusals.append(str(refusal))

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    assert len(refusals) == 1
    assert "main thread" in refusals[0]


async def test_the_host_learns_that_a_server_died(tmp_path: Path) -> None:
    with EmbeddedStack(tmp_path / "data", durable=False, services=("nats", "postgres")) as stack:
        watching = asyncio.create_task(stack.watch())
        await asyncio.wait([watching], timeout=0)
        assert not watching.done()
        os.kill(stack.pids["nats"], signal.SIGKILL)
        why = await asyncio.wait_for(watching, 60)
        assert str(why).startswith("nats ended with code -9;")
        assert str(await stack.watch()) == str(why)
