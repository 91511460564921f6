"""Put and remove small objects without a thread, with far less CPU than the client library for everything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from kit.blob_settings import BlobSettings

if TYPE_CHECKING:
    from obstore.store import S3Credential

LARGEST_BYTES: Final = 256 * 1024
"""A larger object could take longer than the limit of a whole request."""
NO_PROXY: Final = "http://127.0.0.1:9"
"""Given a proxy, the library ignores those of the environment; the server is then excluded from this one."""


class SmallPuts:
    """Puts objects on an S3 server and removes them, each in one try.

    Units: `connect_s` is the limit for a new connection, `whole_s` for the whole request.
    """

    def __init__(self, settings: BlobSettings, *, connect_s: float, whole_s: float) -> None:
        self._settings = settings
        self._connect = timedelta(seconds=connect_s)
        self._whole = timedelta(seconds=whole_s)
        self._store: S3Store | None = None

    async def put(self, name: str, data: bytes, media_type: str) -> bool:
        """Store an object; return False if it is too large or the request failed."""
        return len(data) <= LARGEST_BYTES and await self._try(
            lambda store: store.put_async(name, data, attributes={"Content-Type": media_type}, use_multipart=False)
        )

    async def remove(self, name: str) -> bool:
        """Remove an object, which need not exist; return False if the request failed."""
        return await self._try(lambda store: store.delete_async(name))

    async def _try(self, ask: Callable[[S3Store], Awaitable[object]]) -> bool:
        self._store = self._store or self._open()
        try:
            await ask(self._store)
        except GenericError:  # no answer, or a server's failure
            self.drop_connections()
            return False
        except BaseError:
            return False
        return True

    def drop_connections(self) -> None:
        """Stop using the present connections, which are probably dead."""
        self._store = None

    def _open(self) -> S3Store:
        found = self._settings
        return S3Store(
            found.bucket,
            endpoint=f"{'https' if found.secure else 'http'}://{found.endpoint}",
            region=found.region,
            credential_provider=self._credentials,
            client_options={
                "allow_http": not found.secure,
                "connect_timeout": self._connect,
                "timeout": self._whole,
                "proxy_url": NO_PROXY,
                "proxy_excludes": found.endpoint.partition(":")[0],
            },
            retry_config={"max_retries": 0},
        )

    def _credentials(self) -> S3Credential:
        """The keys, by a callback: the library would add a session token of the environment to keys given directly."""
        found = self._settings
        return {
            "access_key_id": found.access_key,
            "secret_access_key": found.secret_key,
            "token": None,
            "expires_at": None,
        }
