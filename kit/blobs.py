"""Content-addressed objects on any S3 server: writing one twice is harmless, and none ever changes.

Most are stored under one prefix. A paid answer is stored under the name of its step, so that the next worker on that
step finds it even if its writer died before publishing the hash.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

import structlog
import urllib3
from minio.deleteobjects import DeleteObject
from minio.error import MinioException, S3Error
from urllib3.exceptions import HTTPError

from contracts.v1.parts import INLINE_BYTES, BlobRef, TextRef
from kit.blob_check import BlobsUnavailable as BlobsUnavailable
from kit.blob_check import StoreCheck
from kit.blob_settings import BlobMissing, BlobSettings
from kit.cache import Cache
from kit.s3_client import S3Client, explain
from kit.s3_puts import SmallPuts
from kit.settings import SettingsError

TEXT = "text/plain; charset=utf-8"
CACHE_BYTES = 32 * 1024 * 1024
THREADS = 8
RETRY_DELAY_S = 1.0
CONNECT_TIMEOUT_S = 2.0
SILENCE_S = 5.0
"""Longest silence within a response; minio sends no more than 5 MiB in one request."""
COMMON = "sha256"
HEALTH_BODY = bytes(8 * 1024)
"""Larger than the free rest of a disk page, so that each write needs new space."""
HEALTH = f"{COMMON}/{hashlib.sha256(HEALTH_BODY).hexdigest()}"
"""An ordinary blob under the common prefix."""
ANSWERS = "answers"
_FAILURES = (MinioException, HTTPError, OSError)

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """An object, as the store lists it."""

    sha256: str
    under: str
    size_bytes: int


class Blobs:
    """Content-addressed objects with a bounded cache.

    Every method may raise BlobsUnavailable, after `patience_s` seconds of retries.
    """

    def __init__(self, settings: BlobSettings, *, patience_s: float = 0.0) -> None:
        self._bucket = settings.bucket
        self._endpoint = settings.endpoint
        self._patience_s = patience_s
        self._connections = urllib3.PoolManager(
            maxsize=THREADS, timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=SILENCE_S), retries=False
        )
        self._client = S3Client.open(settings, self._connections)
        self._puts = SmallPuts(settings, connect_s=CONNECT_TIMEOUT_S, whole_s=SILENCE_S)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="blobs")
        self._cache: Cache[str, bytes] = Cache(capacity=CACHE_BYTES, weigh=len)
        self._check = StoreCheck(
            look=partial(self._run, self._has_bucket, patience_s=0.0),
            write=partial(self._run, self._put, HEALTH, HEALTH_BODY, "application/octet-stream", patience_s=0.0),
        )

    def impatient(self) -> Self:
        """The same store, whose methods raise BlobsUnavailable once a second try fails."""
        found = copy(self)
        found._patience_s = 0.0
        return found

    async def require(self) -> None:
        """Check once that the bucket can be used.

        Raises: SettingsError: with the variable to look at.
        """
        try:
            found = await self._run(self._client.bucket_exists, self._bucket, patience_s=0.0)
        except BlobsUnavailable as failure:
            error = failure.__cause__ or failure
            if isinstance(error, S3Error):
                raise SettingsError(
                    f"OPENERRATA_S3_ACCESS_KEY, OPENERRATA_S3_SECRET_KEY: {self._endpoint} does not let us look at the "
                    f"bucket {self._bucket!r}: {error.code}"
                ) from error
            raise SettingsError(
                f"OPENERRATA_S3_ENDPOINT: no blob store answers at {self._endpoint}: {explain(error)}; is it running?"
            ) from error
        if not found:
            raise SettingsError(
                f"OPENERRATA_S3_BUCKET: there is no bucket {self._bucket!r} at {self._endpoint}; create it"
            )

    async def problem(self) -> str | None:
        """The current problem in a sentence, None if there is none."""
        return await self._check.problem()

    async def put(self, data: bytes, media_type: str = "application/octet-stream", *, under: str = COMMON) -> BlobRef:
        """Store bytes under `<under>/<hash>`, unless they are cached and the store still has them.

        The store is asked every time, since the object may have been erased.
        """
        digest = hashlib.sha256(data).hexdigest()
        name = f"{under}/{digest}"
        if self._cache.get(digest) is None or not await self._run(self._exists, name):
            await self._store(name, data, media_type)
            self._cache_if_small(digest, data)
        return BlobRef(sha256=digest, size_bytes=len(data), media_type=media_type)

    async def get(self, sha256: str, under: str | None = None) -> bytes:
        """The bytes with this hash, from the prefix `under` or, as after a restore, from the common one.

        Raises: BlobMissing: there is no such object, or its bytes were altered.
        """
        cached = self._cache.get(sha256)
        if cached is not None:
            return cached
        data = await self._run(self._fetch, sha256, under)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise BlobMissing(f"the object stored as {sha256} has other content")
        self._cache_if_small(sha256, data)
        return data

    async def put_named(self, name: str, data: bytes, media_type: str) -> None:
        """Store bytes under the caller's name for them, replacing any object of that name."""
        await self._store(name, data, media_type)

    async def get_named(self, name: str) -> bytes | None:
        """The bytes stored by `put_named`, or None if there are none."""
        return await self._run(self._fetch_named, name)

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        """Name a text by its hash; store it unless it is small enough for the event itself.

        Shapes: `answers` is the step that the text is the answer to.
        """
        data = text.encode()
        under = None if answers is None else f"{ANSWERS}/{answers}"
        if len(data) <= INLINE_BYTES:
            return TextRef(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), inline=text, under=under)
        blob = await self.put(data, TEXT, under=under or COMMON)
        return TextRef(sha256=blob.sha256, size_bytes=blob.size_bytes, under=under)

    async def store_answer(self, ref: TextRef) -> None:
        """Store an answer that was to be inside an event, for the next worker on its step."""
        if ref.inline is not None and ref.under is not None:
            await self.put(ref.inline.encode(), TEXT, under=ref.under)

    async def answers(self, step: str) -> list[TextRef]:
        """The texts stored as answers to a step or its sub-steps, in the order of their names."""
        return await self.texts(f"{ANSWERS}/{step}")

    async def texts(self, place: str) -> list[TextRef]:
        """The texts stored below a prefix, in the order of their names."""
        found = await self._run(self._list, f"{place}/")
        return [TextRef(sha256=name.sha256, size_bytes=name.size_bytes, under=name.under) for name in found]

    async def get_text(self, ref: TextRef) -> str:
        """The text itself.

        Raises: BlobMissing: see `get`.
        """
        return ref.inline if ref.inline is not None else (await self.get(ref.sha256, ref.under)).decode()

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        """Many texts at once, by hash."""
        wanted = {ref.sha256: ref for ref in refs}
        texts = await asyncio.gather(*(self.get_text(ref) for ref in wanted.values()))
        return dict(zip(wanted, texts, strict=True))

    async def names(self) -> dict[str, StoredBlob]:
        """Every object, by its hash."""
        found = [await self._run(self._list, f"{place}/") for place in (ANSWERS, COMMON)]
        return {name.sha256: name for names in found for name in names}

    async def remove_folder(self, place: str) -> int:
        """Delete all objects below a prefix and return how many there were."""
        names = await self._run(self._list, f"{place}/")
        await self._run(self._remove_all, names)
        for name in names:
            self._cache.evict(name.sha256)
        return len(names)

    async def remove(self, sha256: str, under: str | None = None) -> None:
        """Delete an object; a missing one is no error."""
        name = f"{under or COMMON}/{sha256}"
        if not await self._puts.remove(name):
            await self._run(self._client.remove_object, self._bucket, name)
        self._cache.evict(sha256)

    def close(self) -> None:
        """Stop the threads."""
        self._check.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _store(self, name: str, data: bytes, media_type: str) -> None:
        if not await self._puts.put(name, data, media_type):  # the other client corrects the clock, and says why not
            self._connections.clear()
            await self._run(self._put, name, data, media_type)

    def _has_bucket(self) -> str | None:
        return None if self._client.bucket_exists(self._bucket) else f"there is no bucket {self._bucket!r}"

    def _list(self, prefix: str) -> list[StoredBlob]:
        found = self._client.list_objects(self._bucket, prefix=prefix, recursive=True)
        parts = ((str(each.object_name).rpartition("/"), each.size or 0) for each in found)
        return [StoredBlob(digest, under, size) for (under, _, digest), size in parts]

    def _remove_all(self, names: Sequence[StoredBlob]) -> None:
        wanted = [DeleteObject(f"{each.under}/{each.sha256}") for each in names]
        for error in self._client.remove_objects(self._bucket, wanted):
            raise MinioException(f"{error.name} was not removed: {error.code}")

    def _put(self, name: str, data: bytes, media_type: str) -> None:
        self._client.put_object(self._bucket, name, io.BytesIO(data), len(data), content_type=media_type)

    def _exists(self, name: str) -> bool:
        try:
            self._client.stat_object(self._bucket, name)
        except S3Error as error:
            if error.code in ("NoSuchKey", "NoSuchObject"):
                return False
            raise
        return True

    def _fetch(self, sha256: str, under: str | None) -> bytes:
        data = self._fetch_named(f"{under or COMMON}/{sha256}")
        if data is not None:
            return data
        if under is not None:
            return self._fetch(sha256, None)
        raise BlobMissing(f"no object {sha256}")

    def _fetch_named(self, name: str) -> bytes | None:
        try:
            response = self._client.get_object(self._bucket, name)
        except S3Error as error:
            if error.code in ("NoSuchKey", "NoSuchBucket"):
                return None
            raise
        try:
            return response.read()
        finally:
            response.close()
            response.release_conn()

    def _cache_if_small(self, sha256: str, data: bytes) -> None:
        if len(data) <= CACHE_BYTES // 4:
            self._cache.put(sha256, data)

    async def _run(self, call: Callable[..., T], *arguments: object, patience_s: float | None = None) -> T:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._patience_s if patience_s is None else patience_s)
        fresh = False
        while True:
            ahead = self._client.ahead
            try:
                return await loop.run_in_executor(self._threads, call, *arguments)
            except _FAILURES as error:
                if isinstance(error, S3Error):
                    if self._client.correct_clock(error.response.headers.get("date"), ahead):
                        continue
                else:
                    self._connections.clear()  # the others are probably dead too
                    self._puts.drop_connections()
                    if not fresh:
                        fresh = True
                        continue
                self._check.failed(f"blob store at {self._endpoint}: {explain(error)}: see its log and its disk")
                if loop.time() >= deadline:
                    raise BlobsUnavailable(f"blob store at {self._endpoint}: {explain(error)}") from error
                log.warning("blob store does not answer, trying again", error=explain(error))
                await asyncio.sleep(RETRY_DELAY_S)
