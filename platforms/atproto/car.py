"""CAR files of version 1 with one root: blocks, each addressed by the hash of its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from platforms.atproto.cbor import CID_BYTES, DAG_CBOR, Cid, InvalidCbor, decode, encode
from platforms.atproto.reasons import InvalidProof

MAX_BYTES: Final = 1_000_000
MAX_BLOCKS: Final = 500
_MAX_VARINT_BYTES: Final = 4


class Car(NamedTuple):
    """A CAR file's root and its blocks, by address."""

    root: Cid
    blocks: Mapping[Cid, bytes]


def read_car(data: bytes) -> Car:
    """Read a CAR file and check every block against its address. Raises: InvalidProof: check `car` fails."""
    if len(data) > MAX_BYTES:
        raise InvalidProof("car", f"the file is longer than {MAX_BYTES} bytes")
    try:
        header, at = _section(data, 0)
        root = _root(header)
        blocks: dict[Cid, bytes] = {}
        count = 0
        while at < len(data):
            section, at = _section(data, at)
            cid, block = Cid.parse(section[:CID_BYTES]), section[CID_BYTES:]
            count += 1
            if count > MAX_BLOCKS:
                raise InvalidProof("car", f"the file has more than {MAX_BLOCKS} blocks")
            if cid.codec != DAG_CBOR or cid != Cid.of(block):
                raise InvalidProof("car", "a block is not what its address names")
            blocks[cid] = block
    except InvalidCbor as error:
        raise InvalidProof("car", str(error)) from None
    return Car(root, blocks)


def _root(header: bytes) -> Cid:
    match decode(header):
        case {"roots": [Cid(codec=0x71) as root]} if header == encode({"version": 1, "roots": [root]}):
            return root
        case _:
            raise InvalidProof("car", "the header is not that of version 1 with one root")


def _section(data: bytes, at: int) -> tuple[bytes, int]:
    """The section that begins at `at`, without its length prefix, and the offset of the next section."""
    length = shift = 0
    for byte in data[at : at + _MAX_VARINT_BYTES]:
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if byte == 0 or at + length > len(data):
                raise InvalidProof("car", "a section has an impossible length")
            return data[at : at + length], at + length
    raise InvalidProof("car", "a section has no length")
