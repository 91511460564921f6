"""Fetches the pictures of a post from untrusted addresses, concurrently and within one time limit.

A failure of a picture is a fate; a failure of our own store is an error, since every picture that the model was shown
must be stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.parts import BlobRef, ImageOccurrence, Picture
from kit.images import MEDIA_TYPES, UnusablePicture, inspect
from kit.web import GuardedHttpClient, Request, WebError
from services.investigator.fates import MAX_BYTES, FetchOutcome, Unavailable, decide, omit_all, select_addresses

MAX_CONCURRENCY: Final = 4
ACCEPT: Final = ", ".join(MEDIA_TYPES)
"""Not */*: many hosts choose the format by this header and would send AVIF."""


class Blobs(Protocol):
    """Stores bytes under their hash."""

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Store bytes once."""


class Pictures:
    """Fetches, checks and stores pictures. Units: `within_s` for all pictures of a post together."""

    def __init__(
        self,
        http: GuardedHttpClient,
        blobs: Blobs,
        registry: CollectorRegistry,
        *,
        wanted: bool = True,
        within_s: float = 20.0,
    ) -> None:
        """`wanted`: whether the model takes pictures."""
        self._http = http
        self._blobs = blobs
        self._wanted = wanted
        self._within_s = within_s
        self._fates = Counter(
            "openerrata_pictures_total",
            "Pictures of posts, by what became of them",
            ("fate", "reason"),
            registry=registry,
        )

    async def gather(self, occurrences: Sequence[ImageOccurrence]) -> tuple[Picture, ...]:
        """The fate of each picture."""
        if self._wanted:
            fates = decide(occurrences, await self._fetch_all(select_addresses(occurrences)))
        else:
            fates = omit_all(occurrences)
        for fate in fates:
            self._fates.labels(fate.status, fate.reason or "").inc()
        return fates

    async def _fetch_all(self, addresses: Sequence[str]) -> Mapping[str, FetchOutcome]:
        fetched: dict[str, FetchOutcome] = {}
        deadline_s = asyncio.get_running_loop().time() + self._within_s
        queue = iter(addresses)
        await asyncio.gather(
            *(self._run_worker(queue, fetched, deadline_s) for _ in range(min(MAX_CONCURRENCY, len(addresses))))
        )
        return fetched

    async def _run_worker(self, queue: Iterator[str], fetched: dict[str, FetchOutcome], deadline_s: float) -> None:
        for address in queue:
            fetched[address] = await self._fetch_one(address, deadline_s)

    async def _fetch_one(self, address: str, deadline_s: float) -> FetchOutcome:
        left_s = deadline_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            return Unavailable("timeout")
        timeout_s = min(left_s, self._within_s / 2)  # or a few slow ones would use up the time of all
        try:
            response = await self._http.fetch(
                Request(address, headers={"Accept": ACCEPT}, timeout_s=timeout_s, max_bytes=MAX_BYTES)
            )
            if response.status != 200:
                return Unavailable(f"http_{response.status}")
            head = await asyncio.to_thread(inspect, response.body)
        except WebError as error:
            return Unavailable(error.kind)
        except UnusablePicture as error:
            return Unavailable(error.fault)
        return await self._blobs.put(response.body, head.media_type)
