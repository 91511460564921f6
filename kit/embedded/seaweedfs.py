"""SeaweedFS as a child, for its S3 API. Keep `-master.telemetry=false`: the default reports to the internet.

Every listener is on loopback, and its internal ports (master, volume, filer, admin) accept only its own components: see
`weed_security`. `weed server` would open fewer ports, but takes seconds to start and does not stop on a signal.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path

import urllib3
from minio import Minio
from minio.error import MinioException

from kit.embedded.child import Child, Program
from kit.embedded.files import write_private
from kit.embedded.ports import GRPC_OFFSET, LOOPBACK, are_free, ensure_ports, listening
from kit.embedded.privileges import chown_tree
from kit.embedded.programs import find_script
from kit.embedded.server import Endpoints, ServerHome
from kit.embedded.weed_security import write_security

BUCKET = "openerrata"
# Its heap is 200 MB from the start, most of it never touched (RSS 115 MB). A limit near that makes the garbage
# collector run all the time: 17 % of a processor at rest with 192 MiB.
MEMORY_LIMIT = "320MiB"


class SeaweedFs:
    """One SeaweedFS with one bucket and one pair of keys, created once."""

    def __init__(self, home: ServerHome) -> None:
        self._home = home

    def start(self) -> Child:
        """Start the server; it is not ready yet."""
        home = self._home
        data = home.folder / "data"
        for folder in (home.folder, data):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        self._access_key, self._secret_key = self._ensure_keys()
        self._ports = ensure_ports(home.folder / "ports.json", 5)
        self._moved = False
        self.clean_up()  # a killed run could not
        write_security(home.folder / ".seaweedfs", "../.seaweedfs")
        chown_tree(home.folder, home.plain_uid)
        master, volume, filer, self._s3_port, admin = self._ports
        options = {
            "dir": ".",  # the working directory; a path would be split at commas
            "ip": LOOPBACK,
            "ip.bind": LOOPBACK,
            "bucket": BUCKET,
            "master.telemetry": "false",
            "master.port": master,
            "master.volumeSizeLimitMB": 256,
            "volume.port": volume,
            "volume.max": 0,  # as many as the disk holds
            "volume.preStopSeconds": 0,
            "filer.port": filer,
            "filer.localSocket": home.sockets / "filer.sock",
            "s3.port": self._s3_port,
            "s3.localSocket": home.sockets / "s3.sock",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "admin.port": admin,
            "admin.ui": "false",
            "webdav": "false",
            "disableHttp": "true",  # of master and filer
        }
        self._child = Child(
            Program(
                name="seaweedfs",
                argv=(
                    find_script("weed"),
                    "-logtostderr=true",
                    "mini",
                    *(f"-{key}={value}" for key, value in options.items()),
                ),
                log=home.log,
                cwd=data,
                env={
                    "AWS_ACCESS_KEY_ID": self._access_key,
                    "AWS_SECRET_ACCESS_KEY": self._secret_key,
                    "GOMEMLIMIT": MEMORY_LIMIT,
                    "HOME": str(home.folder),
                },
                uid=home.plain_uid,
                keep_open=(home.lock_fd,),
            )
        )
        return self._child

    def _ensure_keys(self) -> tuple[str, str]:
        record = self._home.folder / "keys.json"
        if not record.exists():
            write_private(record, json.dumps({"access": secrets.token_hex(10), "secret": secrets.token_urlsafe(32)}))
        keys = json.loads(record.read_text())
        return keys["access"], keys["secret"]

    def ready(self) -> bool:
        """Whether our own process listens on all ports and the bucket, which it creates last, exists.

        If another process took a gRPC port first, SeaweedFS silently uses the next one, where its own clients do not
        find it. So it is killed then; if another port is taken it ends by itself.
        """
        ports = {(LOOPBACK, port + offset) for port in self._ports for offset in (0, GRPC_OFFSET)}
        found = listening(self._child.pid)
        if found - ports:
            self._moved = True
            self._child.kill()
        return found == ports and self._has_bucket()

    def _has_bucket(self) -> bool:
        http = urllib3.PoolManager(timeout=1, retries=False)
        client = Minio(
            f"{LOOPBACK}:{self._s3_port}", self._access_key, self._secret_key, secure=False, http_client=http
        )
        try:
            return client.bucket_exists(BUCKET)
        except (MinioException, urllib3.exceptions.HTTPError):
            return False
        finally:
            http.clear()

    def ports_taken(self) -> bool:
        lines = self._child.last_lines()
        return self._moved or not are_free(self._ports) or any("Port allocation failed" in line for line in lines)

    def add_endpoints(self, endpoints: Endpoints) -> Endpoints:
        """Add the S3 address, its keys and the bucket."""
        return replace(
            endpoints,
            s3_endpoint=f"http://{LOOPBACK}:{self._s3_port}",
            s3_access_key=self._access_key,
            s3_secret_key=self._secret_key,
            s3_bucket=BUCKET,
        )

    def clean_up(self) -> None:
        """Remove the gRPC sockets that SeaweedFS leaves in a folder that no option changes."""
        for port in self._ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-grpc-{port + GRPC_OFFSET}.sock"):  # noqa: S108  its choice
                left.unlink(missing_ok=True)
