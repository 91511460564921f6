"""A process that ends at any line, and a blob store that outlives it."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from contracts.v1.parts import BlobRef, TextRef
from kit.blob_settings import BlobMissing


class Killed(BaseException):
    """The process is gone."""


class Life:
    """Ends the process at its nth contact with the world, before it happens or after."""

    def __init__(self, at: int | None = None) -> None:
        self.contacts = 0
        self._at = at

    def touch(self) -> None:
        """One line further."""
        self.contacts += 1
        if self.contacts == self._at:
            raise Killed


class Store:
    """A blob store that outlives processes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: Counter[str] = Counter()
        self.life = Life()

    async def put(self, data: bytes, media_type: str = "", *, under: str = "") -> BlobRef:
        self.requests["put"] += 1
        self.life.touch()
        ref = BlobRef(sha256=sha256(data).hexdigest(), size_bytes=len(data))
        self.objects[f"{under}/{ref.sha256}"] = data
        self.life.touch()
        return ref

    async def get(self, digest: str, under: str | None = None) -> bytes:
        try:
            return self.objects[f"{under}/{digest}"]
        except KeyError:
            raise BlobMissing(digest) from None

    async def texts(self, place: str) -> list[TextRef]:
        self.requests["list"] += 1
        self.life.touch()
        names = [name.rpartition("/") for name in self.objects if name.startswith(f"{place}/")]
        return [TextRef(sha256=digest, size_bytes=1, under=under) for under, _, digest in names]

    async def folders(self, place: str) -> list[str]:
        return sorted({name.split("/")[1] for name in self.objects if name.startswith(f"{place}/")})

    async def remove(self, digest: str, under: str | None = None) -> None:
        self.requests["remove"] += 1
        self.objects.pop(f"{under}/{digest}", None)

    async def remove_folder(self, place: str) -> int:
        self.requests.update(("list", "remove"))
        gone = [name for name in self.objects if name.startswith(f"{place}/")]
        for name in gone:
            del self.objects[name]
        return len(gone)
