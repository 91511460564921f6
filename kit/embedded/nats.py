"""NATS with JetStream as a child. Durable means `sync_interval: always`: an acknowledged event survives a power cut.

With the server's default of two minutes, events already acknowledged were lost when the power went.
"""

from __future__ import annotations

import json
from dataclasses import replace

from contracts.access import ACCESS
from kit.embedded.child import Child, Program
from kit.embedded.files import write_private
from kit.embedded.nats_accounts import build_accounts, ensure_passwords, move_streams
from kit.embedded.ports import LOOPBACK, are_free, ensure_ports, listens
from kit.embedded.privileges import chown_tree
from kit.embedded.programs import find_script
from kit.embedded.server import Endpoints, ServerHome, is_healthy

MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
MEMORY_STREAMS_BYTES = 256 * 1024 * 1024
PING_INTERVAL = "4s"
"""The server drops a client that has not answered two pings; until then it still delivers messages to that client."""


class Nats:
    """One NATS server; its folder holds the streams and the ports."""

    def __init__(self, home: ServerHome) -> None:
        self._home = home

    def start(self) -> Child:
        """Start the server; it is not ready yet."""
        home = self._home
        home.folder.mkdir(mode=0o700, exist_ok=True)
        self._client_port, self._monitor_port = self._ports = ensure_ports(home.folder / "ports.json", 2)
        self._passwords = ensure_passwords(home.folder / "passwords.json")
        move_streams(home.folder / "jetstream" / "jetstream")
        jetstream = {"store_dir": "jetstream", "max_memory_store": MEMORY_STREAMS_BYTES}
        config = {
            "server_name": "openerrata",
            "listen": f"{LOOPBACK}:{self._client_port}",
            "http": f"{LOOPBACK}:{self._monitor_port}",
            "max_payload": MAX_PAYLOAD_BYTES,
            "ping_interval": PING_INTERVAL,
            "jetstream": jetstream | ({"sync_interval": "always"} if home.durable else {}),
            "accounts": build_accounts(self._passwords),
        }
        # The server's configuration language contains JSON, but not its escapes: every path in it is relative.
        write_private(home.folder / "nats.json", json.dumps(config, indent=1))
        chown_tree(home.folder, home.plain_uid)
        self._child = Child(
            Program(
                name="nats",
                argv=(find_script("nats-server"), "-c", "nats.json"),
                log=home.log,
                cwd=home.folder,
                env={"GOMEMLIMIT": "256MiB"},
                uid=home.plain_uid,
                keep_open=(home.lock_fd,),
            )
        )
        return self._child

    def ready(self) -> bool:
        """Whether our own process listens and reports health."""
        # In this order: who listens is read from a list of all connections, which takes longer than a refusal.
        return is_healthy(self._monitor_port, "/healthz") and listens(self._child.pid, self._ports)

    def ports_taken(self) -> bool:
        return not are_free(self._ports) or any("address already in use" in line for line in self._child.last_lines())

    def add_endpoints(self, endpoints: Endpoints) -> Endpoints:
        """Add the addresses of the broker and of its monitor."""
        return replace(
            endpoints,
            nats_url=self._url_of("openerrata"),
            nats_analyst_url=self._url_of("analyst"),
            nats_service_urls={name: self._url_of(name) for name in ACCESS},
            nats_monitor_url=f"http://{LOOPBACK}:{self._monitor_port}",
        )

    def _url_of(self, user: str) -> str:
        return f"nats://{user}:{self._passwords[user]}@{LOOPBACK}:{self._client_port}"

    def clean_up(self) -> None:
        """Do nothing: NATS leaves no files elsewhere."""
