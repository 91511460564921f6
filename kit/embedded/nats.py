"""NATS with JetStream as a child. Durable means `sync_interval: always`: an acknowledged event survives a power cut.

With the server's default of two minutes, events already acknowledged were lost when the power went.
"""

from __future__ import annotations

import json
from typing import Any

from contracts.access import ACCESS
from kit.embedded.child import Child, Program
from kit.embedded.files import write_private
from kit.embedded.nats_accounts import accounts, move_streams, passwords
from kit.embedded.ports import LOOPBACK, keep_ports, listens, usable
from kit.embedded.privileges import hand_over
from kit.embedded.programs import script
from kit.embedded.server import Home, answers

MAX_PAYLOAD_BYTES = 8 * 1024 * 1024
MEMORY_STREAMS_BYTES = 256 * 1024 * 1024
PING_INTERVAL = "4s"
"""The server drops a client that answers none of two pings; until then it hands it work that others wait for."""


class Nats:
    """One NATS server; its folder keeps the streams and the ports."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def start(self) -> Child:
        """Start the server; it is not ready yet."""
        home = self._home
        home.folder.mkdir(mode=0o700, exist_ok=True)
        self._client_port, self._monitor_port = self._ports = keep_ports(home.folder / "ports.json", 2)
        self._passwords = passwords(home.folder / "passwords.json")
        move_streams(home.folder / "jetstream" / "jetstream")
        jetstream = {"store_dir": "jetstream", "max_memory_store": MEMORY_STREAMS_BYTES}
        config = {
            "server_name": "openerrata",
            "listen": f"{LOOPBACK}:{self._client_port}",
            "http": f"{LOOPBACK}:{self._monitor_port}",
            "max_payload": MAX_PAYLOAD_BYTES,
            "ping_interval": PING_INTERVAL,
            "jetstream": jetstream | ({"sync_interval": "always"} if home.durable else {}),
            "accounts": accounts(self._passwords),
        }
        # The server's configuration language contains JSON, but not its escapes: every path in it is relative.
        write_private(home.folder / "nats.json", json.dumps(config, indent=1))
        hand_over(home.folder, home.plain_uid)
        self._child = Child(
            Program(
                name="nats",
                argv=(script("nats-server"), "-c", "nats.json"),
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
        return listens(self._child.pid, self._ports) and answers(self._monitor_port, "/healthz")

    def ports_taken(self) -> bool:
        """After an early end: whether somebody else holds one of the ports, or held it when it wanted to listen."""
        return not usable(self._ports) or any("address already in use" in line for line in self._child.last_lines())

    def endpoints(self) -> dict[str, Any]:
        """Where clients and the monitor connect."""
        at = f"{LOOPBACK}:{self._client_port}"
        return {
            "nats_url": f"nats://openerrata:{self._passwords['openerrata']}@{at}",
            "nats_analyst_url": f"nats://analyst:{self._passwords['analyst']}@{at}",
            "nats_service_urls": {name: f"nats://{name}:{self._passwords[name]}@{at}" for name in ACCESS},
            "nats_monitor_url": f"http://{LOOPBACK}:{self._monitor_port}",
        }

    def tidy(self) -> None:
        """Nothing is left outside."""
