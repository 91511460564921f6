"""SeaweedFS as a child, for its S3 door; `-master.telemetry=false` is no option, the default reports to the internet.

Every listener is on loopback, and its inner doors (master, volume, filer, admin) are closed to all but its own parts:
see `weed_security`. `weed server` would open fewer doors, but starts in seconds and does not stop when asked.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import urllib3
from minio import Minio
from minio.error import MinioException

from kit.embedded.child import Child, Program
from kit.embedded.files import write_private
from kit.embedded.ports import GRPC_OFFSET, LOOPBACK, keep_ports, listens, usable
from kit.embedded.privileges import hand_over
from kit.embedded.programs import script
from kit.embedded.server import Home
from kit.embedded.weed_security import write_security

BUCKET = "openerrata"
# Its heap is 200 MB from the start, most of it never touched (RSS 115 MB). Any limit near that collects garbage
# without end: 17 % of a processor at rest with 192 MiB.
MEMORY_LIMIT = "320MiB"


class SeaweedFs:
    """One SeaweedFS with one bucket and one pair of keys, made once and kept."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def start(self) -> Child:
        """Start the server; it is not ready yet."""
        home = self._home
        data = home.folder / "data"
        for folder in (home.folder, data):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        self._access_key, self._secret_key = self._keys()
        self._ports = keep_ports(home.folder / "ports.json", 5)
        self.tidy()  # a killed run could not
        write_security(home.folder / ".seaweedfs", "../.seaweedfs")
        hand_over(home.folder, home.plain_uid)
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
                    script("weed"),
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

    def _keys(self) -> tuple[str, str]:
        record = self._home.folder / "keys.json"
        if not record.exists():
            write_private(record, json.dumps({"access": secrets.token_hex(10), "secret": secrets.token_urlsafe(32)}))
        keys = json.loads(record.read_text())
        return keys["access"], keys["secret"]

    def ready(self) -> bool:
        """Whether our own process listens everywhere and the bucket, the last thing it makes, is there."""
        ports = (*self._ports, *(port + GRPC_OFFSET for port in self._ports))
        return listens(self._child.pid, ports) and self._has_bucket()

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
        """After an early end: whether somebody else holds one of the ports, or held it when it wanted to listen."""
        return not usable(self._ports) or any("Port allocation failed" in line for line in self._child.last_lines())

    def endpoints(self) -> dict[str, str]:
        """The S3 door, its keys and the bucket."""
        return {
            "s3_endpoint": f"http://{LOOPBACK}:{self._s3_port}",
            "s3_access_key": self._access_key,
            "s3_secret_key": self._secret_key,
            "s3_bucket": BUCKET,
        }

    def tidy(self) -> None:
        """Some of its gRPC sockets stay, in a place that no option changes."""
        for port in self._ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-grpc-{port + GRPC_OFFSET}.sock"):  # noqa: S108  its choice
                left.unlink(missing_ok=True)
