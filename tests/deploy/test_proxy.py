"""The example of a reverse proxy is valid and agrees with the gateway's own limits."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from kit.http import bind
from services.gateway.http import BODY_BYTES
from services.gateway.jobs.request_headers import LONGEST_WAIT_S
from services.gateway.labels import SUBSCRIBE
from services.gateway.settings import GatewaySettings
from tests.architecture.sources import ROOT
from tests.support.system import until

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
CONFIGURATION = ROOT / "deploy" / "nginx.conf"


def seconds(directive: str) -> list[int]:
    found = re.findall(rf"^\s*{directive}\s+(\d+)([sh]);", CONFIGURATION.read_text(), re.M)
    return [int(number) * (3_600 if unit == "h" else 1) for number, unit in found]


def find_nginx() -> str:
    nginx = os.environ.get("NGINX") or shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert nginx, "install the package nginx-light, or name the program by NGINX"
    return nginx


def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    nginx = find_nginx()
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}}\nhttp {{ include {CONFIGURATION}; }}\n")
    ran = subprocess.run([nginx, "-t", "-p", tmp_path, "-c", whole], capture_output=True, text=True, timeout=20)
    assert ran.returncode == 0, ran.stderr


def test_the_proxy_agrees_with_the_gateway() -> None:
    text, ours = CONFIGURATION.read_text(), GatewaySettings()
    of_clients, of_the_upstream = sorted(seconds("keepalive_timeout"), reverse=True)
    assert of_the_upstream < ours.header_timeout_s < of_clients
    assert min(seconds("proxy_read_timeout")) > max(ours.observe_timeout_s + ours.catch_up_timeout_s, LONGEST_WAIT_S)
    assert re.search(r"client_max_body_size\s+(\d+)", text)[1] == str(BODY_BYTES + 4_096)  # type: ignore[index]  # no match fails the test
    assert f"limit_conn openerrata_events {ours.events_clients_per_network};" in text
    assert f"server 127.0.0.1:{ours.port};" in text


async def test_subscribers_of_labels_reach_the_gateway(tmp_path: Path) -> None:
    async def subscribe(socket: ServerConnection) -> None:
        await socket.send(socket.request.headers["X-Forwarded-For"] if socket.request else "")

    # One port is bound and not listened on, so that no other program is given it before nginx.
    with bind("127.0.0.1", 0) as kept:
        address = "{}:{}".format(*kept.getsockname())
        async with serve(subscribe, "127.0.0.1", 0) as gateway:
            port = gateway.sockets[0].getsockname()[1]
            text = CONFIGURATION.read_text().replace("127.0.0.1:8787", f"127.0.0.1:{port}")
            (tmp_path / "ours.conf").write_text(text.replace("listen 8080", f"listen {address}"))
            (tmp_path / "nginx.conf").write_text(
                f"daemon off; master_process off; pid {tmp_path}/pid; error_log stderr; events {{}}\n"
                f"http {{ access_log off; include {tmp_path}/ours.conf;\n"
                + "".join(f"{each}_temp_path {tmp_path}/{each};\n" for each in TEMPORARY)
                + "}\n"
            )
            nginx = await asyncio.create_subprocess_exec(find_nginx(), "-p", tmp_path, "-c", tmp_path / "nginx.conf")

            async def forwarded() -> str | None:
                try:
                    async with connect(f"ws://{address}{SUBSCRIBE}", open_timeout=10) as socket:
                        return str(await socket.recv())
                except OSError:
                    return None

            try:
                assert await until(forwarded, "nginx listens") == "127.0.0.1"
            finally:
                nginx.terminate()
                await nginx.wait()
