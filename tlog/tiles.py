"""Tiles: how a log's hashes and entries are laid out in files that never change (C2SP tlog-tiles).

A tile has up to 256 neighbouring nodes of one level, of every eighth level of the tree. A bundle has the entries whose
hashes are in the tile of level 0 with the same number. Those at the right edge may be partial; their names have the
width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from tlog.encoding import parse_decimal
from tlog.errors import MalformedError
from tlog.merkle import HASH_SIZE, Hash, Node, ReadNode, Tree, hash_children

HEIGHT: Final = 8
WIDTH: Final = 1 << HEIGHT
MAX_LEVEL: Final = 63
MAX_ENTRY: Final = 0xFFFF
"""The bytes of the longest entry that a bundle can hold."""

_NAME: Final = re.compile(
    r"tile/(?P<level>\w+)/(?P<number>(?:x[0-9]{3}/)*[0-9]{3})(?:\.p/(?P<width>[0-9]+))?", re.ASCII
)


class Tile(NamedTuple):
    """A tile of hashes. `level` counts tiles: their hashes are nodes of the level `8 * level`."""

    level: int
    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """The tile's path below the prefix of the log."""
        return f"tile/{self.level}/{_name(self.number, self.width)}"


class Bundle(NamedTuple):
    """A bundle of entries."""

    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """The bundle's path below the prefix of the log."""
        return f"tile/entries/{_name(self.number, self.width)}"


ReadTile: TypeAlias = Callable[[Tile], bytes]
"""Returns the bytes of a tile."""


def parse_path(path: str) -> Tile | Bundle:
    """The tile or bundle at a path below a log's prefix. Raises: MalformedError: the path is of neither."""
    match = _NAME.fullmatch(path)
    if not match:
        raise MalformedError(f"not the path of a tile: {path[:120]!r}")
    elements = match["number"].replace("x", "").split("/")
    if len(elements) > 1 and elements[0] == "000":
        raise MalformedError(f"the number of a tile has a leading element of zeros: {path[:120]!r}")
    number = parse_decimal("".join(elements).lstrip("0") or "0")
    width = WIDTH if match["width"] is None else parse_decimal(match["width"], WIDTH - 1)
    if width == 0:
        raise MalformedError(f"a tile is not empty: {path[:120]!r}")
    if match["level"] == "entries":
        return Bundle(number, width)
    return Tile(parse_decimal(match["level"], MAX_LEVEL), number, width)


def partial_tiles(size: int) -> tuple[Tile, ...]:
    """The partial tiles of a tree, the lowest level first."""
    tiles, level = [], 0
    while size:
        if size % WIDTH:
            tiles.append(Tile(level, size // WIDTH, size % WIDTH))
        size, level = size // WIDTH, level + 1
    return tuple(tiles)


def growth(old: int, new: int) -> tuple[Tile, ...]:
    """The tiles that a tree of `new` leaves has and one of `old` leaves does not have, the lowest level first."""
    tiles, level = [], 0
    while new > old:
        tiles += [Tile(level, index) for index in range(old // WIDTH, new // WIDTH)]
        if new % WIDTH:
            tiles.append(Tile(level, new // WIDTH, new % WIDTH))
        old, new, level = old // WIDTH, new // WIDTH, level + 1
    return tuple(tiles)


def bundle_growth(old: int, new: int) -> tuple[Bundle, ...]:
    """The bundles that a log of `new` entries has and one of `old` entries does not have."""
    return tuple(Bundle(tile.number, tile.width) for tile in growth(old, new) if tile.level == 0)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The hashes of a tree's partial tiles by level, the lowest first: all that is needed to write further tiles."""

    size: int = 0
    partial: tuple[tuple[Hash, ...], ...] = ()

    @classmethod
    def restore(cls, size: int, read: ReadTile) -> Frontier:
        """The frontier of a tree whose partial tiles were published. Raises: MalformedError."""
        read_by_level = {tile.level: split_tile(tile, read(tile)) for tile in partial_tiles(size)}
        return cls(size, tuple(read_by_level.get(level, ()) for level in range(max(read_by_level, default=-1) + 1)))

    def grow(self, leaves: Sequence[Hash]) -> tuple[Frontier, tuple[tuple[Tile, bytes], ...]]:
        """The frontier with the hashes of further leaves, and the tiles of `growth` with their bytes."""
        partial, tiles = list(self.partial), []
        added, start, level = list(leaves), self.size, 0
        while added:
            if level == len(partial):
                partial.append(())
            hashes, first = [*partial[level], *added], start // WIDTH
            full = len(hashes) // WIDTH
            chunks = [hashes[at * WIDTH : (at + 1) * WIDTH] for at in range(full)]
            tiles += [(Tile(level, first + at), b"".join(chunk)) for at, chunk in enumerate(chunks)]
            partial[level] = rest = tuple(hashes[full * WIDTH :])
            if rest:
                tiles.append((Tile(level, first + full, len(rest)), b"".join(rest)))
            added, start, level = [fold_complete(chunk) for chunk in chunks], start // WIDTH, level + 1
        return Frontier(self.size + len(leaves), tuple(partial)), tuple(tiles)

    def tree(self) -> Tree:
        """The same tree as a `Tree`."""
        edge: list[Hash] = []
        for hashes in reversed(self.partial):
            at = 0
            for bit in range(HEIGHT - 1, -1, -1):
                if len(hashes) & (1 << bit):
                    edge.append(fold_complete(hashes[at : at + (1 << bit)]))
                    at += 1 << bit
        return Tree(self.size, tuple(edge))


def fold_complete(hashes: Sequence[Hash]) -> Hash:
    """The root over neighbouring nodes of one level; there are a power of two of them."""
    row = list(hashes)
    while len(row) > 1:
        row = [hash_children(row[at], row[at + 1]) for at in range(0, len(row), 2)]
    return row[0]


def split_tile(tile: Tile, data: bytes) -> tuple[Hash, ...]:
    """The hashes of a tile. Raises: MalformedError: their number is not the tile's width."""
    return _split(tile, data, 0, tile.width)


def _split(tile: Tile, data: bytes, first: int, end: int) -> tuple[Hash, ...]:
    if len(data) != tile.width * HASH_SIZE:
        raise MalformedError(f"{tile.path} has {len(data)} bytes, not {tile.width * HASH_SIZE}")
    return tuple(data[at : at + HASH_SIZE] for at in range(first * HASH_SIZE, end * HASH_SIZE, HASH_SIZE))


def tile_with(node: Node, size: int) -> Tile:
    """The tile of a tree of `size` leaves from which a node is computed. Raises: ValueError: there is none."""
    if node.level < 0 or node.position < 0 or (node.position + 1) << node.level > size:
        raise ValueError(f"a tree of {size} leaves has no complete subtree {node}")
    level, height = divmod(node.level, HEIGHT)
    number = (node.position << height) // WIDTH
    return Tile(level, number, min(WIDTH, (size >> HEIGHT * level) - number * WIDTH))


def tiles_with(nodes: Iterable[Node], size: int) -> tuple[Tile, ...]:
    """The tiles of a tree from which these nodes are computed, each once, in order. Raises: ValueError."""
    return tuple(sorted({tile_with(node, size) for node in nodes}))


def node_reader(size: int, tiles: Mapping[Tile, bytes]) -> ReadNode:
    """A function that reads nodes of a tree of `size` leaves from the tiles that `tiles_with` lists.

    It raises MalformedError for a tile of the wrong length, KeyError for a missing one.
    """

    def read(level: int, position: int) -> Hash:
        tile = tile_with(Node(level, position), size)
        height = level % HEIGHT
        first = (position << height) % WIDTH
        return fold_complete(_split(tile, tiles[tile], first, first + (1 << height)))

    return read


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Entries as a bundle. Raises: ValueError: there are none or more than 256, or one exceeds 65,535 bytes."""
    if not 0 < len(entries) <= WIDTH:
        raise ValueError(f"a bundle has 1 to {WIDTH} entries, not {len(entries)}")
    if (longest := max(map(len, entries))) > MAX_ENTRY:
        raise ValueError(f"an entry has at most {MAX_ENTRY} bytes, not {longest}")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def decode_bundle(bundle: Bundle, data: bytes) -> tuple[bytes, ...]:
    """The entries of a bundle, as many as its width says. Raises: MalformedError."""
    entries: list[bytes] = []
    at = 0
    for _ in range(bundle.width):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise MalformedError(f"{bundle.path} ends within entry {len(entries)}")
        entries.append(data[start:at])
    if at != len(data):
        raise MalformedError(f"{bundle.path} has {len(data) - at} bytes after its {bundle.width} entries")
    return tuple(entries)


def _name(number: int, width: int) -> str:
    digits = str(number)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    elements = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    suffix = "" if width == WIDTH else f".p/{width}"
    return "/".join([f"x{each}" for each in elements[:-1]] + elements[-1:]) + suffix
