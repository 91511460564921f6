"""DAG-CBOR, strictly: a value has exactly one encoding, and any other is refused.

So equal values have equal hashes, and a signed value can be encoded again to check its signature. Floats are refused:
the data model of the AT Protocol has none.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final, NamedTuple, TypeAlias

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 3_000
"""A thousand times as many would block the event loop for seconds."""
DAG_CBOR: Final = 0x71
RAW: Final = 0x55
CID_BYTES: Final = 36
_INT64: Final = 1 << 63
_CID_TAG: Final = 42
_WIDTHS: Final = {24: (1, 24), 25: (2, 1 << 8), 26: (4, 1 << 16), 27: (8, 1 << 32)}
"""By the additional information of a head: the argument's number of bytes, and the least argument that needs them."""


class InvalidCbor(ValueError):
    """The bytes are not strict DAG-CBOR; the message is one sentence for an operator."""


class Cid(NamedTuple):
    """A block's address: version 1, SHA-256. Shapes: `digest` has 32 bytes; `codec` is DAG_CBOR or RAW."""

    codec: int
    digest: bytes

    @classmethod
    def of(cls, block: bytes, codec: int = DAG_CBOR) -> Cid:
        """The address of a block."""
        return cls(codec, hashlib.sha256(block).digest())

    @classmethod
    def parse(cls, data: bytes) -> Cid:
        """Read an address's binary form. Raises: InvalidCbor: the version, codec or hash is not supported."""
        if len(data) != CID_BYTES or data[0] != 1 or data[1] not in (DAG_CBOR, RAW) or data[2:4] != b"\x12\x20":
            raise InvalidCbor("a link is not a CID of version 1 with a codec of the data model and SHA-256")
        return cls(data[1], data[4:])

    @property
    def binary(self) -> bytes:
        """The address's binary form."""
        return bytes((1, self.codec, 0x12, 0x20)) + self.digest

    def __str__(self) -> str:
        return "b" + base64.b32encode(self.binary).decode().rstrip("=").lower()


Value: TypeAlias = "bool | int | str | bytes | Cid | list[Value] | dict[str, Value] | None"


def decode(data: bytes, most: int = MAX_VALUES) -> Value:
    """Decode `data`, which must be exactly one value, of at most `most` keys and values.

    Raises: InvalidCbor.
    """
    reader = _Reader(data, most)
    value = reader.value(MAX_DEPTH)
    if reader.at != len(data):
        raise InvalidCbor("bytes follow the value")
    return value


def encode(value: Value) -> bytes:
    """Encode a value."""
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case Cid():
            return _head(6, _CID_TAG) + encode(b"\0" + value.binary)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            text = value.encode()
            return _head(3, len(text)) + text
        case list():
            return _head(4, len(value)) + b"".join(map(encode, value))
        case dict():
            pairs = sorted(((key.encode(), item) for key, item in value.items()), key=lambda pair: _order(pair[0]))
            return _head(5, len(pairs)) + b"".join(_head(3, len(key)) + key + encode(item) for key, item in pairs)


def _head(major: int, argument: int) -> bytes:
    for additional, (width, least) in reversed(_WIDTHS.items()):
        if argument >= least:
            return bytes((major << 5 | additional,)) + argument.to_bytes(width)
    return bytes((major << 5 | argument,))


def _order(key: bytes) -> tuple[int, bytes]:
    """The sort key of a map's key: length, then bytes."""
    return len(key), key


class _Reader:
    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        self._left = most
        self.at = 0

    def value(self, depth: int) -> Value:
        """Read the next value; `depth` is how many more levels it may nest."""
        self._count_one()
        if depth == 0:
            raise InvalidCbor(f"values nest deeper than {MAX_DEPTH}")
        first = self._take(1)[0]
        if first in (0xF4, 0xF5, 0xF6):
            return None if first == 0xF6 else first == 0xF5
        major, argument = first >> 5, self._argument(first & 0x1F)
        match major:
            case 0 if argument < _INT64:
                return argument
            case 1 if argument < _INT64:
                return -1 - argument
            case 2:
                return self._take(argument)
            case 3:
                return self._text(argument)
            case 4:
                return [self.value(depth - 1) for _ in range(self._count(argument))]
            case 5:
                return self._map(self._count(argument * 2) // 2, depth - 1)
            case 6 if argument == _CID_TAG:
                return self._link(depth - 1)
            case _:
                raise InvalidCbor("a float, tag, simple value or number that the data model does not have")

    def _count_one(self) -> None:
        if self._left == 0:
            raise InvalidCbor("there are too many values")
        self._left -= 1

    def _argument(self, additional: int) -> int:
        if additional < 24:
            return additional
        if additional not in _WIDTHS:
            raise InvalidCbor("an indefinite or reserved length")
        width, least = _WIDTHS[additional]
        argument = int.from_bytes(self._take(width))
        if argument < least:
            raise InvalidCbor("a number that is not in its shortest form")
        return argument

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise InvalidCbor("the bytes end within a value")
        self.at += count
        return self._data[self.at - count : self.at]

    def _count(self, items: int) -> int:
        """Return `items`, the number of values that follow, if enough bytes are left: each value takes at least one."""
        if items > len(self._data) - self.at:
            raise InvalidCbor("the bytes end within a value")
        return items

    def _text(self, length: int) -> str:
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise InvalidCbor("a text is not UTF-8") from None

    def _map(self, pairs: int, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        previous: tuple[int, bytes] | None = None
        for _ in range(pairs):
            self._count_one()
            first = self._take(1)[0]
            if first >> 5 != 3:
                raise InvalidCbor("a key is not a text")
            key = self._text(self._argument(first & 0x1F))
            order = _order(key.encode())
            if previous is not None and order <= previous:
                raise InvalidCbor("keys are repeated or out of order")
            previous = order
            found[key] = self.value(depth)
        return found

    def _link(self, depth: int) -> Cid:
        data = self.value(depth)
        if not isinstance(data, bytes) or data[:1] != b"\0":
            raise InvalidCbor("a link is not a CID")
        return Cid.parse(data[1:])
