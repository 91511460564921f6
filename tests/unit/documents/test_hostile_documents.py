"""Documents that are built to be slow or large end within the child's limits, with a reason or without an article."""

from __future__ import annotations

import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from kit.documents.decoding import Unreadable, decode, detect_kind
from kit.documents.reading import Reader
from kit.documents.walls import MIN_LETTERS, count_letters
from tests.support.growth import assert_linear

WITHIN_S: Final = 3.0
BLOCK: Final = 1_000_000
START: Final = b"<!doctype html><body>"


def pack_blanks(size: int) -> bytes:
    """So many blanks as zlib packs them: one block again and again, and the checksum of all (RFC 1950)."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(b" " * BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)
    low, high = (1 + 32 * size) % 65_521, (size + 32 * size * (size + 1) // 2) % 65_521
    return b"\x78\xda" + block * (size // BLOCK) + packer.flush() + (high << 16 | low).to_bytes(4, "big")


def bomb(size: int) -> bytes:
    """A PDF whose page unpacks, twice, to so many bytes."""
    packed = zlib.compress(pack_blanks(size), 9)
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Contents 4 0 R>>endobj\n"
        + f"4 0 obj<</Length {len(packed)}/Filter[/FlateDecode/FlateDecode]>>\nstream\n".encode()
        + packed
        + b"\nendstream\nendobj\nxref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Size 6>>\nstartxref\n0\n%%EOF\n"
    )


HOSTILE: Final = {
    "blocks 100,000 deep": START + b"<div>" * 100_000 + b"words " * 100,
    "inline 100,000 deep": START + b"<b><i>" * 50_000 + b"words " * 100,
    "lists 20,000 deep": START + b"<ul><li>" * 20_000 + b"words " * 100,
    "tables 3,000 deep": START + b"<table><tr><td><p>" * 3_000 + b"words " * 100,
    "articles 5,000 deep": START + b"<article>" * 5_000 + b"<p>words</p>" * 5_000,
    "300,000 attributes": START + b"<div " + b"".join(b"a%d=1 " % number for number in range(300_000)) + b">words",
    "linked data 1,000,000 deep": START + b"<script type='application/ld+json'>" + b"[" * 1_000_000 + b"</script>words",
    "50 MB": START + b"<p>A sentence of words that says nothing.</p>" * 1_150_000,
    "a PDF bomb": bomb(2_000_000_000),
}


IN_PROCESS: Final[dict[str, tuple[Callable[[int], object], int]]] = {
    "comments before what is no page": (lambda n: detect_kind(b"<!---->" * n + b"x", None), 3),
    "blanks in a content type": (lambda n: decode(b"words", f"text/plain; charset={' ' * n}!"), 500),
    "blanks in a meta element": (lambda n: decode(b"<meta" * 20 + b"charset=" + b" " * n + b"!", None), 200),
}
"""What is looked at in the process of the caller, before a child is started."""


def test_the_bomb_unpacks() -> None:
    assert zlib.decompress(pack_blanks(3 * BLOCK)) == b" " * 3 * BLOCK


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_document_ends_in_time_without_an_article(name: str) -> None:
    began = monotonic()
    try:
        found = await Reader(within_s=WITHIN_S).read_article(HOSTILE[name], None)
    except Unreadable:
        pass
    else:
        assert count_letters(found.text) < MIN_LETTERS
    assert monotonic() - began < WITHIN_S + 30


@pytest.mark.parametrize("name", IN_PROCESS)
def test_what_is_read_outside_the_child_costs_what_its_length_costs(name: str) -> None:
    work, size = IN_PROCESS[name]
    assert_linear(work, lambda n: n, size)


def test_comments_may_stand_before_a_page() -> None:
    assert detect_kind(b"\n<!-- a --> <!---->\n<!doctype  html>", None) == "html"
    assert detect_kind(b"<!-- a --> <p>", None) == "plain"


@pytest.mark.parametrize("name", ["blocks 100,000 deep", "300,000 attributes", "a PDF bomb"])
async def test_so_does_its_text_for_quotes(name: str) -> None:
    began = monotonic()
    with pytest.raises(Unreadable):
        await Reader(within_s=WITHIN_S).read(HOSTILE[name], None)
    assert monotonic() - began < WITHIN_S + 30


def test_a_child_whose_time_is_over_does_not_end_as_one_that_others_end() -> None:
    program = "from kit.documents import child; child.CPU_S = 1; child.limit_resources()\nwhile True: pass"
    ended = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert ended.returncode == -signal.SIGXCPU


@pytest.mark.parametrize(
    ("deed", "end"),
    [
        ("bytearray(2_000_000_000)", "MemoryError"),
        ("open('/dev/null', 'w').close(); open(sys.argv[1], 'w').write('x' * 10_000_000)", "File too large"),
    ],
)
def test_the_child_has_limits_of_its_own(deed: str, end: str, tmp_path: Path) -> None:
    program = f"import sys; from kit.documents.child import limit_resources; limit_resources(); {deed}"
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "file"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode
    assert end in ended.stderr
