"""Read a body up to a limit, which applies to the received and to the decompressed bytes.

A few kilobytes of gzip can hold a gigabyte, so decompression stops at the limit; a client library that decompresses
whole chunks does not.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable
from typing import Final

from kit.web.errors import WebError

ACCEPT_ENCODING: Final = "gzip"
_GZIP: Final = zlib.MAX_WBITS | 16


async def read_body(chunks: AsyncIterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """The decompressed body.

    Raises: WebError: too_large, bad_encoding (not gzip, broken, or cut off).
    """
    reader = _reader(encoding, max_bytes)
    async for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


def _reader(encoding: str, max_bytes: int) -> _Plain | _Gzip:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain(max_bytes)
        case "gzip" | "x-gzip":
            return _Gzip(max_bytes)
        case _:
            raise WebError("bad_encoding", "the body has an encoding that was not asked for")


class _Plain:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._out = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._out += chunk
        if len(self._out) > self._max_bytes:
            raise WebError("too_large", f"the body is longer than {self._max_bytes} bytes")

    def finish(self) -> bytes:
        return bytes(self._out)


class _Gzip(_Plain):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._member = zlib.decompressobj(_GZIP)
        self._arrived_bytes = 0

    def feed(self, chunk: bytes) -> None:
        self._arrived_bytes += len(chunk)
        if self._arrived_bytes > self._max_bytes:
            raise WebError("too_large", f"the packed body is longer than {self._max_bytes} bytes")
        while chunk:
            if self._member.eof:  # a gzip body may have several members
                self._member = zlib.decompressobj(_GZIP)
            try:
                piece = self._member.decompress(chunk, self._max_bytes + 1 - len(self._out))
            except zlib.error:
                raise WebError("bad_encoding", "the body is not valid gzip") from None
            super().feed(piece)
            chunk = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def finish(self) -> bytes:
        if self._arrived_bytes and not self._member.eof:
            raise WebError("bad_encoding", "the gzip body is cut off")
        return super().finish()
