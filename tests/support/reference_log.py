"""Logs of Go's own implementation of signed notes and tiled trees, to compare ours with: see go_log/main.go."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypedDict, cast

import pytest

_SOURCES: Final = Path(__file__).with_name("go_log")
_PACKAGES: Final = Path("/usr/share/gocode")


class Inclusion(TypedDict):
    """An entry, its place, and the hashes that prove it. Bytes are in base64 here and below."""

    index: int
    entry: str
    proof: list[str]


class Consistency(TypedDict):
    """An earlier size of the log, its root, and the hashes that prove it."""

    size: int
    root: str
    proof: list[str]


class Document(TypedDict):
    """A log as anybody sees it: who must have signed its note, tiles and bundles by path, and proofs."""

    keys: list[str]
    note: str
    files: dict[str, str] | None
    inclusions: list[Inclusion]
    consistencies: list[Consistency]


class Order(TypedDict):
    """What a log shall have: the secrets of a log and of a witness, the time of its cosignature, and what to prove."""

    log: str
    witness: str
    time: int
    entries: list[str]
    indexes: list[int]
    sizes: list[int]


class ReferenceLog:
    """The program, built once in `folder`, which those who build it at the same time share."""

    def __init__(self, folder: Path) -> None:
        go = shutil.which("go")
        if go is None or not (_PACKAGES / "src" / "golang.org" / "x" / "mod").is_dir():
            pytest.skip("needs Debian's golang-go and golang-golang-x-mod-dev, which `make programs` installs as root")
        self._program = folder / "reference-log"
        with (folder / "reference-log.lock").open("w") as lock, TemporaryDirectory(dir=folder) as cache:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._program.exists():
                settings = {"GO111MODULE": "off", "GOPATH": str(_PACKAGES), "GOCACHE": cache, "GOENV": "off"}
                offline = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0", "GOFLAGS": ""}
                command = [go, "build", "-o", f"{self._program}.new", "."]
                subprocess.run(command, cwd=_SOURCES, check=True, env={**os.environ, **settings, **offline})
                Path(f"{self._program}.new").rename(self._program)

    def find_faults(self, *logs: Document) -> list[str]:
        """What is wrong with each of them; empty if nothing is."""
        return cast(list[str], self._run("verify", logs))

    def make(self, order: Order) -> Document:
        """A log of its own."""
        return cast(Document, self._run("make", order))

    def _run(self, command: str, given: Sequence[Document] | Order) -> object:
        done = subprocess.run([self._program, command], input=json.dumps(given).encode(), capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
