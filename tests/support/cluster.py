"""Three brokers that are one cluster, each on a host of its own: a network namespace behind a bridge of ours.

Names of everything made here carry the id of the process that made it. What a killed run left behind is removed by the
next one.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

import httpx
import pytest

from kit.embedded.privileges import make_child_hook
from kit.embedded.programs import find_script
from tests.support.system import until

NODES: Final = 3
CLIENT, MONITOR, ROUTE = 4222, 8222, 6222
_NAME: Final = re.compile(r"oe(\d+)x\d+(?:b|n\d|v\d|d\d|w\d)")
_numbers: Final = count(1)


def require_root() -> None:
    """Skip the test where no namespaces can be made; fail in a pipeline that runs as root."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces and mounts need root")
    missing = [name for name in ("ip", "mount", "mkfs.ext4", "gcc") if shutil.which(name) is None]
    if not missing and _run("ip", "netns", "list", check=False).returncode == 0:
        return
    reason = f"this machine has no network namespaces, or lacks {missing}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert not check or done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done


def sweep() -> None:
    """Remove what runs whose process has ended left behind."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _remove(line.split()[1], "umount", "-l")
    for line in _run("ip", "netns", "list", check=False).stdout.splitlines():
        _remove(line.split()[0], "ip", "netns", "delete")
    for line in _run("ip", "-o", "link", check=False).stdout.splitlines():
        _remove(line.split(": ")[1].partition("@")[0], "ip", "link", "delete")


def _remove(thing: str, *command: str) -> None:
    name = _NAME.fullmatch(Path(thing).name)
    if name is not None and not Path(f"/proc/{name[1]}").exists():
        _run(*command, thing, check=False)


class Network:
    """A bridge with an address of ours, and hosts behind it that can be cut off."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.name = f"oe{os.getpid()}x{number}"
        place = (os.getpid() * 8 + number) % (128 * 256)
        self._subnet = f"10.{64 + place // 256}.{place % 256}"
        self.ours = f"{self._subnet}.254"

    def address(self, host: int) -> str:
        """The address of a host."""
        return f"{self._subnet}.{host}"

    def inside(self, host: int) -> tuple[str, ...]:
        """The command prefix that starts a program on a host."""
        return ("ip", "netns", "exec", f"{self.name}n{host}")

    def cut(self, host: int) -> None:
        """Unplug a host."""
        _run("ip", "link", "set", f"{self.name}v{host}", "down")

    def heal(self, host: int) -> None:
        """Plug it in again."""
        _run("ip", "link", "set", f"{self.name}v{host}", "up")

    @contextmanager
    def without(self, *hosts: int) -> Iterator[None]:
        """Cut these hosts off while the context lasts, from us and from each other."""
        for host in hosts:
            self.cut(host)
        try:
            yield
        finally:
            for host in hosts:
                self.heal(host)

    def __enter__(self) -> Self:
        sweep()
        try:
            _run("ip", "link", "add", f"{self.name}b", "type", "bridge")
            _run("ip", "addr", "add", f"{self.ours}/24", "dev", f"{self.name}b")
            _run("ip", "link", "set", f"{self.name}b", "up")
            for host in range(1, NODES + 1):
                self._add(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add(self, host: int) -> None:
        space, ours, theirs = (f"{self.name}{kind}{host}" for kind in "nvw")
        _run("ip", "netns", "add", space)
        _run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs)
        _run("ip", "link", "set", theirs, "netns", space)
        _run("ip", "link", "set", ours, "master", f"{self.name}b", "up")
        for command in (("addr", "add", f"{self.address(host)}/24", "dev", theirs), ("link", "set", theirs, "up")):
            _run("ip", "-n", space, *command)
        _run("ip", "-n", space, "link", "set", "lo", "up")

    def __exit__(self, *_: object) -> None:
        for host in range(1, NODES + 1):
            _run("ip", "netns", "delete", f"{self.name}n{host}", check=False)
            _run("ip", "link", "delete", f"{self.name}v{host}", check=False)
        _run("ip", "link", "delete", f"{self.name}b", check=False)


@contextmanager
def small_disk(network: Network, host: int, megabytes: int) -> Iterator[Path]:
    """A disk in memory that can be filled."""
    at = Path(f"/tmp/{network.name}d{host}")
    at.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "openerrata-tests", str(at))
    try:
        yield at
    finally:
        _run("umount", "-l", str(at), check=False)
        at.rmdir()


class Wire:
    """A line to one node, through which another one calls it. Units: `delay_s` for each piece of what is said; a share
    `loss` of the pieces is lost and comes `AGAIN_S` later, with all that is behind it, as TCP does it.
    """

    AGAIN_S: Final = 0.3

    def __init__(self, network: Network, host: int) -> None:
        self._network, self._host = network, host
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._chance = random.Random(host)
        self.delay_s = 0.0
        self.loss = 0.0

    @property
    def url(self) -> str:
        """The address that the other node calls."""
        assert self._server is not None
        return f"nats://{self._network.ours}:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._called, self._network.ours, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            there, other = await asyncio.open_connection(self._network.address(self._host), ROUTE)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._carry(reader, other))
                    both.create_task(self._carry(there, writer))
            finally:
                other.transport.abort()
        except (OSError, ExceptionGroup, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            if self.delay_s:
                await asyncio.sleep(self.delay_s + (self.AGAIN_S if self._chance.random() < self.loss else 0))
            target.write(data)
            await target.drain()
        raise ConnectionResetError


class Disk:
    """A file system in a file: what was not synced is not in the file, so the file is what a power cut leaves."""

    def __init__(self, folder: Path, network: Network, host: int) -> None:
        self._image = folder / f"disk{host}.img"
        self.at = Path(f"/tmp/{network.name}d{host}")

    def __enter__(self) -> Self:
        with self._image.open("wb") as image:
            image.truncate(256 * 1024 * 1024)
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(self._image))
        self.at.mkdir()
        self._mount()
        return self

    def _mount(self) -> None:
        _run("mount", "-o", "loop,commit=600,noatime", str(self._image), str(self.at))  # the journal waits ten minutes

    def freeze(self) -> Path:
        """Copy what is on the disk at this moment, without what the kernel has not written yet."""
        left = self._image.with_suffix(".left")
        _run("cp", "--sparse=always", str(self._image), str(left))
        return left

    def restore(self, left: Path) -> None:
        """Replace the disk with such a copy."""
        _run("umount", str(self.at))
        left.replace(self._image)
        self._mount()

    def __exit__(self, *_: object) -> None:
        _run("umount", "-l", str(self.at), check=False)
        self.at.rmdir()


class Cluster:
    """NATS on three hosts. Nodes are numbered from 1.

    `stores` are folders for the streams where they are not beside the logs; `routes` replaces the address by which one
    node reaches another; `jetstream` adds to the configuration.
    """

    def __init__(
        self,
        folder: Path,
        network: Network,
        *,
        stores: Mapping[int, Path] | None = None,
        routes: Mapping[tuple[int, int], str] | None = None,
        jetstream: Mapping[str, Any] | None = None,
        alone: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.network = folder, network
        self._stores, self._routes = stores or {}, routes or {}
        self._jetstream = {"sync_interval": "always"} if jetstream is None else jetstream
        self.nodes = (1,) if alone else tuple(range(1, NODES + 1))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """The addresses of all nodes, as in an operator's settings."""
        return ",".join(f"nats://{self.network.address(node)}:{CLIENT}" for node in self.nodes)

    @property
    def monitors(self) -> str:
        """Their monitoring addresses."""
        return ",".join(self.monitor(node) for node in self.nodes)

    def monitor(self, node: int) -> str:
        """One monitoring address."""
        return f"http://{self.network.address(node)}:{MONITOR}"

    def start(self, node: int) -> None:
        """Start a node over the data that it left."""
        address = self.network.address(node)
        config: dict[str, Any] = {
            "server_name": f"node{node}",
            "listen": f"{address}:{CLIENT}",
            "http": f"{address}:{MONITOR}",
            "max_payload": 8 * 1024 * 1024,
            "jetstream": {
                "store_dir": str(self._stores.get(node, self._folder / f"node{node}")),
                "max_memory_store": 64 * 1024 * 1024,
                "max_file_store": 1024 * 1024 * 1024,
                **self._jetstream,
            },
        }
        if len(self.nodes) > 1:
            others = [other for other in self.nodes if other != node]
            config["cluster"] = {
                "name": "openerrata",
                "listen": f"{address}:{ROUTE}",
                "no_advertise": bool(self._routes),
                "routes": [route for other in others if (route := self._route(node, other))],
            }
        file = self._folder / f"node{node}.json"
        file.write_text(json.dumps(config))
        with (self._folder / f"node{node}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(
                [*self.network.inside(node), find_script("nats-server"), "-c", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "GOMEMLIMIT": "256MiB"},
                preexec_fn=make_child_hook(signal.SIGKILL, None),
                start_new_session=True,
            )

    def _route(self, node: int, other: int) -> str:
        """How a node calls another; where there is a line between them, only one of the two calls."""
        if (other, node) in self._routes:
            return ""
        return self._routes.get((node, other), f"nats://{self.network.address(other)}:{ROUTE}")

    def kill(self, *nodes: int) -> None:
        """End nodes without any warning."""
        for node in nodes:
            self._processes[node].send_signal(signal.SIGKILL)
        for node in nodes:
            self._processes.pop(node).wait()

    def pause(self, node: int) -> None:
        """Let a node stand still, with all its connections open."""
        self._processes[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        """Let a paused node go on."""
        self._processes[node].send_signal(signal.SIGCONT)

    async def healthy(self, *nodes: int, within_s: float = 60.0) -> None:
        """Wait until nodes, all unless named, say that their streams are there and up to date."""
        for node in nodes or self.nodes:

            async def well(node: int = node) -> bool:
                assert node not in self._processes or self._processes[node].poll() is None, self.log(node)
                return (await self.asked(node, "/healthz") or {}).get("status") == "ok"

            await until(well, f"node {node} is healthy", within_s=within_s)
        if not nodes:
            await self.led(within_s=within_s)

    async def led(self, *, within_s: float = 60.0) -> None:
        """Wait until a leader of the whole cluster is known."""

        async def known() -> bool:
            found = [await self.asked(node, "/jsz") or {} for node in self._processes]
            return any(each.get("meta_cluster", {}).get("leader") for each in found)

        if len(self.nodes) > 1:
            await until(known, "the cluster has a leader", within_s=within_s)

    async def leader(self, stream: str) -> int:
        """Which node leads a stream."""

        async def known() -> int | None:
            for node in self._processes:
                found = await self.asked(node, "/jsz", streams="true", accounts="true") or {}
                for account in found.get("account_details", []):
                    for each in account.get("stream_detail", []):
                        if each["name"] == stream and (name := each.get("cluster", {}).get("leader")):
                            return int(name.removeprefix("node"))
            return None

        return await until(known, f"{stream} has a leader", within_s=60)

    async def asked(self, node: int, path: str, **parameters: str) -> dict[str, Any] | None:
        """What a monitoring address answers; None if nothing."""
        try:
            async with httpx.AsyncClient(timeout=1, trust_env=False, verify=False) as client:
                answer = await client.get(self.monitor(node) + path, params=parameters)
                found: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError):
            return None
        return found

    def log(self, node: int) -> str:
        """The end of a node's log."""
        return "\n".join((self._folder / f"node{node}.log").read_text(errors="replace").splitlines()[-25:])

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                self.start(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill(*self._processes)
