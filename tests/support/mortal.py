"""A process that ends at any line, and a store that outlives it."""

from __future__ import annotations

from collections import Counter
from datetime import date


class Killed(BaseException):
    """The process is gone."""


class Life:
    """Ends the process at its nth contact with the world, before it happens or after."""

    def __init__(self, at: int | None = None) -> None:
        self.contacts = 0
        self._at = at

    def touch(self) -> None:
        """Count a contact, and end the process at the chosen one."""
        self.contacts += 1
        if self.contacts == self._at:
            raise Killed


class Store:
    """A store of texts that expire, which outlives processes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: Counter[str] = Counter()
        self.life = Life()

    async def put(self, name: str, data: bytes) -> None:
        self.requests["put"] += 1
        self.life.touch()
        self.objects[name] = data
        self.life.touch()

    async def get(self, name: str) -> bytes | None:
        return self.objects.get(name)

    async def names(self, place: str) -> list[str]:
        self.requests["names"] += 1
        self.life.touch()
        return [name.removeprefix(f"{place}/") for name in self._below(place)]

    async def remove(self, place: str) -> int:
        self.requests["remove"] += 1
        gone = self._below(place)
        for name in gone:
            del self.objects[name]
        return len(gone)

    async def first_day(self) -> date:
        days = [date.fromisoformat(name.split("/")[1]) for name in self.objects]
        return min(days, default=date.max)

    def _below(self, place: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(f"{place}/"))
