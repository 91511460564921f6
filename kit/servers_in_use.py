"""Find the servers of a process: external or embedded.

Configured servers are used. Missing ones are embedded; if another process runs them over the same data folder already,
that process's servers are used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from pydantic import SecretStr

from kit import servers
from kit.blob_settings import BlobSettings
from kit.database import ROLES, Role, role_url
from kit.embedded import EmbeddedStack, Endpoints, ServiceName, running_endpoints
from kit.settings import Infrastructure, SettingsError
from kit.vault import MasterKey

MASTER_KEY_FILE = "master.key"
PLAIN_LOGIN = re.compile(r"[\w.~-]+:[\w.~-]+", re.ASCII)
SERVER_NAMES: tuple[ServiceName, ...] = get_args(ServiceName)


@dataclass(frozen=True)
class Servers:
    """Addresses and secrets. `stack` is set if this process runs embedded servers, `data_dir` if it uses any.

    Shapes: `service_urls` are the embedded broker's addresses with the user of each service; `role_urls` are the
    configured logins; `data_dir` holds an embedded master key.
    """

    nats_url: str
    service_urls: dict[str, str]
    nats_monitor_url: str | None
    owner_url: str | None
    role_urls: dict[Role, str]
    blob_settings: BlobSettings | None
    given_keys: SecretStr | None
    data_dir: Path | None
    embedded: bool
    stack: EmbeddedStack | None = None

    @property
    def database_url(self) -> str:
        """The login of the schemas' owner, for migrations and the operator's commands.

        Raises: SettingsError: it is not configured.
        """
        if self.owner_url is None:
            raise SettingsError("OPENERRATA_DATABASE_URL is not set: migrations and commands log in as the owner")
        return self.owner_url

    def broker(self, services: Sequence[str]) -> str:
        """The broker's address, with the user of this process's only service, or the one who may do everything."""
        return self.service_urls.get(services[0], self.nats_url) if len(services) == 1 else self.nats_url

    @property
    def blobs(self) -> BlobSettings:
        """The blob store.

        Raises: SettingsError: it is not configured.
        """
        if self.blob_settings is None:
            raise SettingsError("OPENERRATA_S3_ENDPOINT is not set")
        return self.blob_settings

    def database_login(self, role: Role) -> str:
        """The login of a service: the configured one, or the role as user without a password."""
        return self.role_urls.get(role) or role_url(self.database_url, role)

    @cached_property
    def master_keys(self) -> tuple[MasterKey, ...]:
        """The keys that seal readers' own keys; read only by processes that seal or open them.

        Raises: SettingsError: they are missing or unreadable.
        """
        return _master_keys(self.given_keys, self.data_dir)


@contextmanager
def find_servers(
    infrastructure: Infrastructure,
    data_dir: Path,
    *,
    durable: bool = True,
    start: bool = True,
    needs: Collection[ServiceName] = SERVER_NAMES,
) -> Iterator[Servers]:
    """Find or start the servers for as long as the context lasts; call from the main thread.

    If any server is external, only the missing ones that this process needs are embedded.

    Raises: SettingsError: an address lacks its credentials, or `start` is False and no servers run over `data_dir`.
    """
    missing = _missing(infrastructure, needs)
    if not missing:
        yield _complete(infrastructure, needs, Endpoints(), None, None)
        return
    found = running_endpoints(data_dir)
    if found is not None:
        yield _complete(infrastructure, needs, found, data_dir, None)
        return
    if not start:
        raise SettingsError(f"no servers run over {data_dir} and none are given; start them with `openerrata up`")
    with EmbeddedStack(data_dir, durable=durable, services=missing) as stack:
        yield _complete(infrastructure, needs, stack.endpoints, data_dir, stack)


def _missing(infrastructure: Infrastructure, needs: Collection[ServiceName]) -> tuple[ServiceName, ...]:
    given: dict[ServiceName, bool] = {
        "nats": infrastructure.nats_url is not None,
        "postgres": infrastructure.database_url is not None or bool(_role_urls(infrastructure)),
        "s3": infrastructure.s3_endpoint is not None,
    }
    wanted = needs if any(given.values()) else given
    return tuple(name for name, is_given in given.items() if name in wanted and not is_given)


def _role_urls(infrastructure: Infrastructure) -> dict[Role, str]:
    given = {role: getattr(infrastructure, f"database_{role}_url") for role in ROLES}
    return {role: _database_url(url, f"DATABASE_{role.upper()}_URL") for role, url in given.items() if url is not None}


def _complete(
    infrastructure: Infrastructure,
    needs: Collection[ServiceName],
    found: Endpoints,
    data_dir: Path | None,
    stack: EmbeddedStack | None,
) -> Servers:
    blobs: BlobSettings | None = None
    if infrastructure.s3_endpoint is None:
        if found.s3_endpoint:
            blobs = _blobs(found.s3_endpoint, found.s3_access_key, found.s3_secret_key, found.s3_bucket)
    elif "s3" in needs:
        if infrastructure.s3_access_key is None or infrastructure.s3_secret_key is None:
            raise SettingsError("OPENERRATA_S3_ENDPOINT needs OPENERRATA_S3_ACCESS_KEY and OPENERRATA_S3_SECRET_KEY")
        blobs = _blobs(
            infrastructure.s3_endpoint,
            infrastructure.s3_access_key,
            infrastructure.s3_secret_key.get_secret_value(),
            infrastructure.s3_bucket,
            infrastructure.s3_region,
        )
    owner_url = infrastructure.database_url or found.database_url
    return Servers(
        nats_url=_with_user(infrastructure) if infrastructure.nats_url else found.nats_url,
        service_urls={} if infrastructure.nats_url else found.nats_service_urls,
        nats_monitor_url=infrastructure.nats_monitor_url or found.nats_monitor_url or None,
        owner_url=_database_url(owner_url) if owner_url else None,
        role_urls=_role_urls(infrastructure),
        blob_settings=blobs,
        given_keys=infrastructure.encryption_keys,
        data_dir=data_dir,
        embedded=infrastructure.nats_url is None,
        stack=stack,
    )


def _with_user(infrastructure: Infrastructure) -> str:
    """The broker's addresses, each with the configured user unless the address names one."""
    url = infrastructure.nats_url or ""
    if infrastructure.nats_user is None or infrastructure.nats_password is None:
        return url
    user = f"{infrastructure.nats_user}:{infrastructure.nats_password.get_secret_value()}"
    if not PLAIN_LOGIN.fullmatch(user):  # an address must encode other characters, and the client does not decode them
        raise SettingsError("OPENERRATA_NATS_USER and _PASSWORD may hold letters, digits and -._~ only")
    plain = [each.strip() for each in url.split(",")]
    return ",".join(each if "@" in each else f"{_scheme(each)}{user}@{each.rpartition('//')[2]}" for each in plain)


def _scheme(address: str) -> str:
    return address[: address.find("//") + 2] if "//" in address else "nats://"


def _blobs(url: str, access_key: str, secret_key: str, bucket: str, region: str = "us-east-1") -> BlobSettings:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise SettingsError("OPENERRATA_S3_ENDPOINT must be an address such as http://127.0.0.1:9000")
    return BlobSettings(parts.netloc, access_key, secret_key, bucket, secure=parts.scheme == "https", region=region)


def _database_url(url: str, variable: str = "DATABASE_URL") -> str:
    try:
        return servers.database_url(url)
    except ValueError:  # the error would show the address, and the password in it
        raise SettingsError(
            f"OPENERRATA_{variable} must be an address such as postgresql://user:password@host:5432/name"
        ) from None


def _master_keys(given: SecretStr | None, data_dir: Path | None) -> tuple[MasterKey, ...]:
    if given is not None:
        try:
            texts = given.get_secret_value().split(",")
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
    """The data folder's own master key, created when missing."""
    return MasterKey.of_file(data_dir / MASTER_KEY_FILE)
