"""`openerrata witness` as an operator runs it, and killed while fifty ask it for different histories."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from kit.http import bind
from kit.witnesses import ask
from tests.support.forked import Forked
from tests.support.system import Process, until
from tests.support.tlogs import LOG_KEY, ORIGIN, ExampleLog, leaf_hashes
from tlog.checkpoint import Checkpoint
from tlog.keys import Algorithm, VerifierKey, verify_note
from tlog.merkle import Hash
from tlog.note import Note, parse_signatures
from tlog.witnessing import Cosigned, StopSigning, Submission

COMMON = 3
LEAVES = 600
WORKERS = 50
ROUNDS = 8
KILLS = 3
BRANCHES = [ExampleLog([*leaf_hashes(COMMON), *leaf_hashes(LEAVES, f"branch {each}")]) for each in range(2)]


@dataclass
class Operator:
    """Somebody with a folder for a witness."""

    folder: Path
    port: int = 0
    processes: list[Process] = field(default_factory=list)
    up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the witness is meant to answer."""

    def start(self, *words: str) -> Process:
        """Run a command."""
        log = self.folder / f"log-{len(self.processes)}"
        settings = {
            name: value for name, value in os.environ.items() if not name.startswith(("OPENERRATA_", "OPENAI_"))
        }
        process = Process(words[0], Forked(["witness", *words], self.folder, settings, log, log), log)
        self.processes.append(process)
        return process

    async def run(self, *words: str) -> tuple[int, str]:
        """Run a command to its end; its code and its words."""
        process = self.start(*words)
        return await process.ended(within_s=60), process.log.read_text()

    async def serve(self) -> Process:
        """Start the witness; it answers then."""
        process = self.start("serve", "--port", str(self.port))

        async def running() -> dict[str, object] | None:
            assert process.alive, process.tail()
            return next((line for line in process.lines() if line.get("event") == "running"), None)

        await until(running, "the witness runs", within_s=60)
        self.up.set()
        return process

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def operating(folder: Path) -> AsyncIterator[tuple[Operator, tuple[VerifierKey, ...]]]:
    """An operator whose new witness knows the log, and its keys."""
    with bind("127.0.0.1", 0) as kept:  # bound and not listened on, so that no other program is given the port
        operator = Operator(folder, kept.getsockname()[1])
        try:
            code, said = await operator.run("init", "witness.example/w1")
            assert code == 0, said
            keys = tuple(VerifierKey.parse(line) for line in said.split() if line.startswith("witness.example/w1+"))
            code, said = await operator.run("add", str(LOG_KEY.verifier))
            assert (code, f"knows {ORIGIN}" in said) == (0, True), said
            yield operator, keys
        finally:
            for process in operator.processes:
                if process.alive:
                    await process.kill()


async def test_an_operator_makes_starts_and_stops_a_witness(tmp_path: Path) -> None:
    """What the guide says, with the log's own client; errors are one line, and Ctrl-C is clean."""
    log = BRANCHES[0]

    async def prove(old: int, new: int) -> tuple[Hash, ...]:
        return log.consistency(old, new)

    async with operating(tmp_path) as (operator, keys), httpx.AsyncClient(trust_env=False) as http:
        assert [key.algorithm for key in keys] == [Algorithm.COSIGNATURE, Algorithm.ML_DSA_44]
        for words in (("init", "other.example"), ("add", str(LOG_KEY.verifier)), ("add", str(keys[0])), ("add", "x")):
            code, said = await operator.run(*words)
            assert (code, said.count("\n"), said.startswith("Error: ")) == (1, 1, True), said
        process = await operator.serve()
        assert isinstance(await ask(http, operator.url, keys[:1], log.note(4), 0, prove), Cosigned)
        done = await ask(http, operator.url, keys, log.note(9), 0, prove)
        assert isinstance(done, Cosigned)
        assert [each.key for each in done.signatures] == [*keys]
        assert isinstance(await ask(http, operator.url, keys, BRANCHES[1].note(9), 9, prove), StopSigning)
        assert isinstance(await ask(http, operator.url, keys, log.note(5), 4, prove), StopSigning)
        process.send(signal.SIGINT)
        assert await process.ended() == 0
        assert "Traceback" not in process.log.read_text()


@dataclass
class Cosignatures:
    """Every checkpoint that the witness cosigned, as far as anybody was told."""

    keys: tuple[VerifierKey, ...]
    roots: dict[int, set[Hash]] = field(default_factory=lambda: defaultdict(set))
    count: int = 0

    def enter(self, note: Note, lines: str) -> None:
        """A cosignature, which verifies."""
        assert verify_note(Note(note.text, parse_signatures(lines)), self.keys)
        checkpoint = Checkpoint.parse(note.text)
        self.roots[checkpoint.size].add(checkpoint.root)
        self.count += 1


async def press(http: httpx.AsyncClient, operator: Operator, number: int, told: Cosignatures) -> None:
    """Submit one branch again and again, from whatever size the witness names."""
    log, known, rounds = BRANCHES[number % len(BRANCHES)], 0, 0
    while rounds < ROUNDS:
        size = min(max(known, 1) + number % 3, len(log.leaves))
        note = log.note(size)
        try:
            sent = Submission(known, log.consistency(known, size) if known < size else (), note)
            answer = await http.post(f"{operator.url}/add-checkpoint", content=bytes(sent))
        except httpx.TransportError:
            await operator.up.wait()  # it was killed; it comes back
            continue
        rounds += 1
        if answer.status_code == 200:
            told.enter(note, answer.text)
            known = size
        elif answer.status_code == 409:
            known = int(answer.text)


@pytest.mark.requirement("TR-14")
async def test_never_cosigns_a_fork(tmp_path: Path) -> None:
    """A witness never cosigns a fork: 50 conflicting requests in parallel, and it is killed meanwhile."""
    async with operating(tmp_path) as (operator, keys), httpx.AsyncClient(trust_env=False, timeout=60) as http:
        process, told = await operator.serve(), Cosignatures(keys)
        pressing = asyncio.gather(*(press(http, operator, each, told) for each in range(WORKERS)))
        for kill in range(1, KILLS + 1):

            async def enough(least: int = kill * 8) -> bool:
                return told.count >= least or pressing.done()

            await until(enough, "it cosigned", within_s=60)
            operator.up.clear()
            await process.kill()
            largest = max(told.roots)
            process = await operator.serve()
            shown = await http.get(f"{operator.url}/{sha256(ORIGIN.encode()).hexdigest()}/checkpoint")
            assert Checkpoint.parse(Note.parse(shown.content).text).size >= largest
        await asyncio.wait_for(pressing, 120)
        last = max(told.roots)
        honest, other = sorted(BRANCHES, key=lambda log: told.roots[last] != {log.checkpoint(last).root})
        for log, size, status in (
            (other, last, 422),
            (other, last + 1, 422),
            (honest, last, 200),
            (honest, last + 1, 200),
        ):
            sent = Submission(last, log.consistency(last, size) if last < size else (), log.note(size))
            answer = await http.post(f"{operator.url}/add-checkpoint", content=bytes(sent))
            assert answer.status_code == status, answer.text
        beyond = [size for size in told.roots if size > COMMON]
        assert len(beyond) >= KILLS
        assert all(told.roots[size] == {honest.checkpoint(size).root} for size in beyond)
