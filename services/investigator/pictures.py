"""A post's pictures, fetched from addresses that strangers chose: some at once, all within one span of time.

Trouble with a picture is a fate and never an error; trouble with our own store is an error, because a picture that was
shown to the model and not kept could not be looked at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter

from contracts.v1.parts import BlobRef, ImageOccurrence, Picture
from kit.images import MEDIA_TYPES, UnusablePicture, inspect
from kit.web import Door, Request, WebError
from services.investigator.fates import MAX_BYTES, Brought, Unavailable, attempted, decide, none_wanted

AT_ONCE: Final = 4
ACCEPT: Final = ", ".join(MEDIA_TYPES)
"""Not */*: many hosts choose the format by this header, and would send AVIF."""


class Blobs(Protocol):
    """Bytes under their hash."""

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Store them, once."""
        ...


class Pictures:
    """Fetches, checks and stores. Units: `within_s` for all pictures of a post together."""

    def __init__(
        self, door: Door, blobs: Blobs, registry: CollectorRegistry, *, wanted: bool = True, within_s: float = 20.0
    ) -> None:
        """`wanted`: whether the model sees pictures at all."""
        self._door = door
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
        """What became of each picture."""
        if self._wanted:
            fates = decide(occurrences, await self._brought(attempted(occurrences)))
        else:
            fates = none_wanted(occurrences)
        for fate in fates:
            self._fates.labels(fate.status, fate.reason or "").inc()
        return fates

    async def _brought(self, addresses: Sequence[str]) -> Mapping[str, Brought]:
        brought: dict[str, Brought] = {}
        deadline_s = asyncio.get_running_loop().time() + self._within_s
        waiting = iter(addresses)
        await asyncio.gather(*(self._work(waiting, brought, deadline_s) for _ in range(min(AT_ONCE, len(addresses)))))
        return brought

    async def _work(self, waiting: Iterator[str], brought: dict[str, Brought], deadline_s: float) -> None:
        for address in waiting:
            brought[address] = await self._bring(address, deadline_s)

    async def _bring(self, address: str, deadline_s: float) -> Brought:
        left_s = deadline_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            return Unavailable("timeout")
        timeout_s = min(left_s, self._within_s / 2)  # or a few slow ones would take the turn of all others
        try:
            answer = await self._door.fetch(
                Request(address, headers={"Accept": ACCEPT}, timeout_s=timeout_s, max_bytes=MAX_BYTES)
            )
            if answer.status != 200:
                return Unavailable(f"http_{answer.status}")
            head = await asyncio.to_thread(inspect, answer.body)
        except WebError as error:
            return Unavailable(error.kind)
        except UnusablePicture as error:
            return Unavailable(error.fault)
        return await self._blobs.put(answer.body, head.media_type)
