"""Tiles: their paths and widths, and that a log can be read from them alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tlogs import ExampleLog, leaf_hashes
from tlog.errors import MalformedError
from tlog.merkle import Node, Tree, consistency_nodes, inclusion_nodes, prove_inclusion, verify_inclusion
from tlog.tiles import (
    MAX_ENTRY,
    Bundle,
    Frontier,
    Tile,
    bundle_growth,
    decode_bundle,
    encode_bundle,
    growth,
    node_reader,
    parse_path,
    partial_tiles,
    tile_with,
    tiles_with,
)

LARGE = 70_000
LEAVES = leaf_hashes(LARGE)
FULL = 256
EXAMPLES = [
    (1, [Tile(0, 0, 1)]),
    (255, [Tile(0, 0, 255)]),
    (256, [Tile(0, 0), Tile(1, 0, 1)]),
    (257, [Tile(0, 0), Tile(0, 1, 1), Tile(1, 0, 1)]),
    (
        LARGE,
        [*(Tile(0, each) for each in range(273)), Tile(0, 273, 112), Tile(1, 0), Tile(1, 1, 17), Tile(2, 0, 1)],
    ),
]

numbers = st.integers(0, 2**40)
widths = st.integers(1, FULL)
tiles = st.builds(Tile, st.integers(0, 63), numbers, widths) | st.builds(Bundle, numbers, widths)
sizes = st.integers(0, 700)


@pytest.mark.requirement("TR-10")
@pytest.mark.parametrize(("size", "expected"), EXAMPLES)
def test_a_log_has_the_tiles_of_the_specification(size: int, expected: list[Tile]) -> None:
    """Tiles have the paths and widths of the specification."""
    assert list(growth(0, size)) == expected
    frontier, written = Frontier().grow(LEAVES[:size])
    assert [tile for tile, _ in written] == expected
    assert all(len(data) == 32 * tile.width for tile, data in written)
    assert frontier.tree() == Tree().append(LEAVES[:size])
    assert [tile for tile in expected if tile.width < FULL] == list(partial_tiles(size))


@pytest.mark.requirement("TR-10")
@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 1_234_067), "tile/0/x001/x234/067"),
        (Tile(1, 17, 1), "tile/1/017.p/1"),
        (Tile(63, 999, 255), "tile/63/999.p/255"),
        (Tile(2, 1000), "tile/2/x001/000"),
        (Bundle(273, 112), "tile/entries/273.p/112"),
        (Bundle(1_234_067), "tile/entries/x001/x234/067"),
    ],
)
def test_paths_are_those_of_the_specification(tile: Tile | Bundle, path: str) -> None:
    """Tiles have the paths and widths of the specification."""
    assert tile.path == path
    assert parse_path(path) == tile


@given(tiles)
def test_paths_are_read_as_they_are_written(tile: Tile | Bundle) -> None:
    """There is one path for each tile."""
    assert parse_path(tile.path) == tile
    assert type(parse_path(tile.path)) is type(tile)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tile/0/0",
        "tile/0/x001",
        "tile/0/001/067",
        "tile/0/x000/067",
        "tile/00/067",
        "tile/64/067",
        "tile/-1/067",
        "tile/0/067.p/0",
        "tile/0/067.p/256",
        "tile/0/067.p/08",
        "tile/0/067.p/",
        "tile/0/067.p",
        "tile/0/067/",
        "/tile/0/067",
        "tile/data/067",
        "tile/0/0\u0661\u0662",
        "tile/\u0661/067",
        "tile/0/067\n",
        "tile/0/../067",
        "tile/0/" + "x999/" * 9 + "999",
    ],
)
def test_refuses_other_paths(path: str) -> None:
    """What nothing is published under is not looked up."""
    with pytest.raises(MalformedError):
        parse_path(path)


@given(st.lists(st.integers(0, 600), max_size=5))
@settings(max_examples=40)
def test_a_log_that_grows_in_steps_has_the_same_tiles(steps: list[int]) -> None:
    """Each step writes what it adds; the newest of each tile are those of the whole, from restored frontiers too."""
    published: dict[Tile, bytes] = {}
    frontier = Frontier()
    for step in steps:
        restored = Frontier.restore(frontier.size, published.__getitem__)
        old = restored.size
        frontier, written = restored.grow(LEAVES[old : old + step])
        assert tuple(tile for tile, _ in written) == growth(old, old + step)
        published.update(written)
    _, whole = Frontier().grow(LEAVES[: frontier.size])
    assert {tile: published[tile] for tile, _ in whole} == dict(whole)
    assert frontier.tree().root() == Tree().append(LEAVES[: frontier.size]).root()


def test_proofs_are_read_from_tiles() -> None:
    """Every node of a proof comes out of the tiles that are named beforehand."""
    _, written = Frontier().grow(LEAVES)
    published = dict(written)
    root = Tree().append(LEAVES).root()
    for index in (0, 255, 256, 65_535, 65_536, LARGE - 1):
        needed = tiles_with(inclusion_nodes(index, LARGE), LARGE)
        assert len(needed) <= 4
        read = node_reader(LARGE, {tile: published[tile] for tile in needed})
        verify_inclusion(index, LARGE, LEAVES[index], root, prove_inclusion(index, LARGE, read))


def test_nodes_of_tiles_are_those_of_the_tree() -> None:
    """A node within a tile is computed from its hashes."""
    log, size = ExampleLog(LEAVES[:600]), 600
    read = node_reader(size, dict(Frontier().grow(log.leaves)[1]))
    for node in {*consistency_nodes(300, size), *consistency_nodes(257, size), Node(8, 1), Node(9, 0), Node(3, 74)}:
        assert read(*node) == log.read(*node)


@pytest.mark.parametrize("node", [Node(0, 600), Node(3, 75), Node(10, 0), Node(-1, 0), Node(0, -1)])
def test_there_is_no_tile_for_a_subtree_that_is_not_complete(node: Node) -> None:
    """What is not in any tile is refused, not guessed."""
    with pytest.raises(ValueError):
        tile_with(node, 600)


def test_refuses_a_tile_of_another_length() -> None:
    """A truncated tile is no tile."""
    with pytest.raises(MalformedError):
        Frontier.restore(3, lambda _: bytes(95))


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=FULL))
def test_bundles_are_read_as_they_are_written(entries: list[bytes]) -> None:
    """Entries keep their bytes, their order and their number."""
    bundle, data = Bundle(0, len(entries)), encode_bundle(entries)
    assert list(decode_bundle(bundle, data)) == entries
    for wrong in (data[:-1], data + b"\0"):
        with pytest.raises(MalformedError):
            decode_bundle(bundle, wrong)


def test_bundles_have_their_limits() -> None:
    """The longest entry fits; a longer one, none and one too many do not."""
    longest = bytes(MAX_ENTRY)
    assert decode_bundle(Bundle(0, 1), encode_bundle([longest])) == (longest,)
    for entries in ([], [b""] * 257, [longest + b"\0"]):
        with pytest.raises(ValueError):
            encode_bundle(entries)


@given(sizes, sizes)
def test_bundles_grow_as_the_lowest_tiles_do(old: int, added: int) -> None:
    """Each bundle stands beside the tile with the hashes of its entries."""
    bundles = bundle_growth(old, old + added)
    assert sum(bundle.width for bundle in bundles) == (added + old % FULL if added else 0)
