"""Where the servers are: given by address, or brought along.

What an operator gives is used; what is missing is embedded, unless another process already runs it over the same data
folder: then its servers are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from kit import servers
from kit.blobs import BlobSettings
from kit.embedded import EmbeddedStack, Endpoints, ServiceName, running_endpoints
from kit.settings import Infrastructure, SettingsError
from kit.vault import MasterKey

MASTER_KEY_FILE = "master.key"


@dataclass(frozen=True)
class Surroundings:
    """Addresses and secrets, complete. `stack` is set if this process runs embedded servers."""

    nats_url: str
    nats_monitor_url: str | None
    database_url: str
    blobs: BlobSettings
    master_keys: tuple[MasterKey, ...]
    embedded: bool
    stack: EmbeddedStack | None = None


@contextmanager
def surroundings(
    infrastructure: Infrastructure, data_dir: Path, *, durable: bool = True, start: bool = True
) -> Iterator[Surroundings]:
    """Find or start the servers for as long as the context lasts; call from the main thread.

    Raises: SettingsError: an address without its credentials, or `start` is False and nothing runs over `data_dir`.
    """
    missing = _missing(infrastructure)
    if not missing:
        yield _complete(infrastructure, Endpoints(), _master_keys(infrastructure, None), None)
        return
    found = running_endpoints(data_dir)
    if found is not None:
        yield _complete(infrastructure, found, _master_keys(infrastructure, data_dir), None)
        return
    if not start:
        raise SettingsError(f"no servers run over {data_dir} and none are given; start them with `openerrata up`")
    with EmbeddedStack(data_dir, durable=durable, services=missing) as stack:
        yield _complete(infrastructure, stack.endpoints, _master_keys(infrastructure, data_dir), stack)


def _missing(infrastructure: Infrastructure) -> tuple[ServiceName, ...]:
    given: dict[ServiceName, str | None] = {
        "nats": infrastructure.nats_url,
        "postgres": infrastructure.database_url,
        "s3": infrastructure.s3_endpoint,
    }
    return tuple(name for name, address in given.items() if address is None)


def _complete(
    infrastructure: Infrastructure, found: Endpoints, keys: tuple[MasterKey, ...], stack: EmbeddedStack | None
) -> Surroundings:
    if infrastructure.s3_endpoint is None:
        blobs = _blobs(found.s3_endpoint, found.s3_access_key, found.s3_secret_key, found.s3_bucket)
    else:
        if infrastructure.s3_access_key is None or infrastructure.s3_secret_key is None:
            raise SettingsError("OPENERRATA_S3_ENDPOINT needs OPENERRATA_S3_ACCESS_KEY and OPENERRATA_S3_SECRET_KEY")
        blobs = _blobs(
            infrastructure.s3_endpoint,
            infrastructure.s3_access_key,
            infrastructure.s3_secret_key.get_secret_value(),
            infrastructure.s3_bucket,
            infrastructure.s3_region,
        )
    return Surroundings(
        nats_url=infrastructure.nats_url or found.nats_url,
        nats_monitor_url=infrastructure.nats_monitor_url or found.nats_monitor_url or None,
        database_url=_database_url(infrastructure.database_url or found.database_url),
        blobs=blobs,
        master_keys=keys,
        embedded=infrastructure.nats_url is None,
        stack=stack,
    )


def _blobs(url: str, access_key: str, secret_key: str, bucket: str, region: str = "us-east-1") -> BlobSettings:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise SettingsError("OPENERRATA_S3_ENDPOINT must be an address such as http://127.0.0.1:9000")
    return BlobSettings(parts.netloc, access_key, secret_key, bucket, secure=parts.scheme == "https", region=region)


def _database_url(url: str) -> str:
    try:
        return servers.database_url(url)
    except ValueError:  # the error would show the address, and the password in it
        raise SettingsError(
            "OPENERRATA_DATABASE_URL must be an address such as postgresql://user:password@host:5432/name"
        ) from None


def _master_keys(infrastructure: Infrastructure, data_dir: Path | None) -> tuple[MasterKey, ...]:
    if infrastructure.encryption_keys is not None:
        try:
            texts = infrastructure.encryption_keys.get_secret_value().split(",")
            return tuple(MasterKey.parse(text.strip()) for text in texts)
        except ValueError as error:
            raise SettingsError(f"OPENERRATA_ENCRYPTION_KEYS: {error}") from None
    if data_dir is None:
        raise SettingsError(
            "OPENERRATA_ENCRYPTION_KEYS is not set: it seals readers' own API keys; "
            "make one with `openerrata keys master`"
        )
    return (embedded_master_key(data_dir),)


def embedded_master_key(data_dir: Path) -> MasterKey:
    """The data folder's own master key, made when it is first asked for."""
    file = data_dir / MASTER_KEY_FILE
    if not file.exists():
        _create_once(file, str(MasterKey.generate()))
    return MasterKey.parse(file.read_text().strip())


def _create_once(file: Path, text: str) -> None:
    """Another process sees the whole file or none, and the first of two writers wins."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent) as draft:  # readable by its owner only
        draft.write(text)
        draft.flush()
        with suppress(FileExistsError):
            os.link(draft.name, file)
