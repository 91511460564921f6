"""A witness: what it answers in which order, and that it cosigns one history only."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from services.witness.app import MAX_BODY_BYTES, Witness, make_app
from services.witness.domain import Refused
from services.witness.store import DATABASE, KEY, Store, StoreError
from tests.support.fakes import StillClock
from tests.support.tlogs import LOG_KEY, ORIGIN, ExampleLog, leaf_hashes, signing_key
from tlog.checkpoint import Checkpoint
from tlog.keys import Algorithm, verify_note
from tlog.merkle import Hash
from tlog.note import Note, parse_signatures
from tlog.witnessing import SIZE_TYPE, Submission

LOG = ExampleLog(leaf_hashes(20))
FORK = ExampleLog([*LOG.leaves[:3], *leaf_hashes(17, "fork")])
KEYS = [signing_key("witness.example/w1", kind) for kind in (Algorithm.COSIGNATURE, Algorithm.ML_DSA_44)]
VERIFIERS = [key.verifier for key in KEYS]
NOW = StillClock().now()
FOLDER = "witness"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Store.create(tmp_path / FOLDER, KEYS)
    store = Store(tmp_path / FOLDER)
    store.add(LOG_KEY.verifier)
    return store


def submission(old: int, size: int, log: ExampleLog = LOG, proof: tuple[Hash, ...] | None = None) -> bytes:
    """The body of a request."""
    return bytes(Submission(old, log.consistency(old, size) if proof is None else proof, log.note(size)))


async def post(store: Store, body: bytes) -> httpx.Response:
    """What the witness answers to a body that arrives in two parts."""

    async def parts() -> AsyncIterator[bytes]:
        yield body[: len(body) // 2]
        yield body[len(body) // 2 :]

    async with client(store) as http:
        return await http.post("/add-checkpoint", content=parts())


def client(store: Store) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(make_app(store, StillClock())), base_url="http://witness")


def checked(response: httpx.Response, log: ExampleLog, size: int) -> None:
    """It cosigned, with both keys, now."""
    assert response.status_code == 200, response.text
    note = Note(str(log.checkpoint(size)), parse_signatures(response.text))
    verified = verify_note(note, VERIFIERS)
    assert [each.key for each in verified] == VERIFIERS
    assert {each.time for each in verified} == {int(NOW.timestamp())}


async def test_cosigns_what_continues_its_history(store: Store) -> None:
    """From nothing, further, the same again, and after a restart."""
    checked(await post(store, submission(0, 5)), LOG, 5)
    checked(await post(store, submission(5, 12)), LOG, 12)
    checked(await post(store, submission(12, 12)), LOG, 12)
    checked(await post(Store(store.folder), submission(12, 20)), LOG, 20)


async def test_the_empty_log_is_cosigned(store: Store) -> None:
    """Size 0 has one root, and is the beginning of every log."""
    wrong = Note(str(replace(LOG.checkpoint(0), root=bytes(32))), ())
    signed = Note(wrong.text, (LOG_KEY.sign(wrong.text),))
    assert (await post(store, bytes(Submission(0, (), signed)))).status_code == 422
    checked(await post(store, submission(0, 0)), LOG, 0)
    assert (await post(store, submission(0, 4, proof=(bytes(32),)))).status_code == 422
    checked(await post(store, submission(0, 4)), LOG, 4)


FOREIGN = ExampleLog(LOG.leaves, signing_key("other.example"))
FORGED = ExampleLog(LOG.leaves, signing_key(ORIGIN, salt="forged"))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (submission(9, 5, FOREIGN, ()).replace(b"old 9", b"old 09"), 400),
        (submission(9, 5, FOREIGN, ()).replace(b"\n5\n", b"\n05\n"), 400),
        (submission(9, 5, FOREIGN, ()), 404),
        (submission(9, 5, FORGED, ()), 403),
        (submission(9, 5, LOG, ()), 400),
        (submission(4, 5, LOG, (bytes(32),)), 409),
        (submission(7, 9), 409),
        (submission(5, 6, LOG, (bytes(32),)), 422),
        (submission(5, 9, FORK), 422),
        (submission(5, 5, FORK), 422),
        (submission(5, 5, LOG, (bytes(32),)), 422),
        (b"x" * (MAX_BODY_BYTES + 1), 413),
    ],
)
async def test_refuses_in_the_order_of_the_specification(store: Store, body: bytes, status: int) -> None:
    """Form, origin, signature, sizes, conflict, proof: the first of them decides, and nothing is changed."""
    await post(store, submission(0, 5))
    before = store.latest(sha256(ORIGIN.encode()).hexdigest())
    refused = await post(store, body)
    assert refused.status_code == status, refused.text
    if status == 409:
        assert (refused.text, refused.headers["content-type"]) == ("5\n", SIZE_TYPE)
    assert store.latest(sha256(ORIGIN.encode()).hexdigest()) == before


async def test_monitors_read_the_newest_checkpoint(store: Store) -> None:
    """With the signature of the log and the cosignatures, and no line that anybody else put there."""
    name = sha256(ORIGIN.encode()).hexdigest()
    stranger = signing_key("stranger.example").sign(LOG.note(5).text)
    sent = Submission(0, (), LOG.note(5).with_signatures(stranger))
    async with client(store) as http:
        assert (await http.get(f"/{name}/checkpoint")).status_code == 404
        await http.post("/add-checkpoint", content=bytes(sent))
        shown = await http.get(f"/{name}/checkpoint")
        assert (await http.get(f"/{'0' * 64}/checkpoint")).status_code == 404
        assert (await http.get("/")).text == "".join(f"{key}\n" for key in VERIFIERS)
        assert (await http.get("/add-checkpoint")).status_code == 405
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    note = Note.parse(shown.content)
    assert Checkpoint.parse(note.text) == LOG.checkpoint(5)
    assert [each.name for each in note.signatures] == [ORIGIN, *(key.name for key in KEYS)]


async def test_a_log_may_change_its_key(store: Store) -> None:
    """A further key of the same origin signs on."""
    successor = signing_key(ORIGIN, salt="successor")
    await post(store, submission(0, 5))
    assert (await post(store, submission(5, 6, ExampleLog(LOG.leaves, successor)))).status_code == 403
    store.add(successor.verifier)
    checked(await post(store, submission(5, 6, ExampleLog(LOG.leaves, successor))), LOG, 6)
    with pytest.raises(StoreError):
        store.add(successor.verifier)


class MeetingClock(StillClock):
    """Whoever is about to sign waits for a second one, if there can be one."""

    def __init__(self) -> None:
        super().__init__()
        self._signing = 0
        self._second = threading.Event()

    def now(self) -> datetime:
        self._signing += 1
        if self._signing > 1:
            self._second.set()
        self._second.wait(0.2)
        return super().now()


@pytest.mark.requirement("TR-14")
def test_of_many_conflicting_checkpoints_at_once_one_is_cosigned(store: Store) -> None:
    """A witness never cosigns a fork: 50 conflicting requests in parallel, and it is killed meanwhile."""
    Witness(store, StillClock()).add_checkpoint(submission(0, 3))
    witness = Witness(store, MeetingClock())
    branches = [ExampleLog([*LOG.leaves[:3], *leaf_hashes(4, f"branch {each}")]) for each in range(50)]

    def submit(body: bytes) -> int:
        try:
            witness.add_checkpoint(body)
        except Refused as refused:
            return refused.status
        return 200

    with ThreadPoolExecutor(50) as threads:
        statuses = list(threads.map(submit, [submission(3, 7, branch) for branch in branches]))
    assert sorted(statuses) == [200] + [409] * 49
    cosigned = Checkpoint.parse(Note.parse(store.latest(sha256(ORIGIN.encode()).hexdigest()) or b"").text)
    assert cosigned == branches[statuses.index(200)].checkpoint(7)


async def test_answers_nothing_that_is_not_on_disk(store: Store) -> None:
    """A database that cannot be written to is no reason to sign."""
    with sqlite3.connect(store.folder / DATABASE) as database:
        database.execute("CREATE TRIGGER full BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    assert (await post(store, submission(0, 5))).status_code == 503
    assert store.latest(sha256(ORIGIN.encode()).hexdigest()) is None


async def test_a_body_that_does_not_come_is_waited_for_until_its_time_is_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that connects and says nothing would take a place for ever."""
    monkeypatch.setattr("services.witness.app.BODY_TIMEOUT_S", 0.01)

    async def begun() -> AsyncIterator[bytes]:
        yield submission(0, 5)[:9]
        await asyncio.Event().wait()

    async with asyncio.timeout(20), client(store) as http:
        assert (await http.post("/add-checkpoint", content=begun())).status_code == 408


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / DATABASE).unlink(), "without it this key must not be used"),
        (lambda folder: (folder / KEY).unlink(), "openerrata witness init"),
        (lambda folder: (folder / KEY).write_text("PRIVATE+KEY+x\n"), "no private key"),
        (lambda folder: (folder / KEY).write_text(""), "is empty"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(store: Store, spoil: Callable[[Path], object], says: str) -> None:
    """A key whose memory is lost could cosign a fork."""
    spoil(store.folder)
    with pytest.raises(StoreError, match=says):
        Store(store.folder)
    with pytest.raises(StoreError, match="exists already"):
        Store.create(store.folder, KEYS)


async def test_a_lost_memory_is_not_made_anew_while_it_runs(store: Store) -> None:
    """Nor where the file goes away after the start; the log that asks is to try again."""
    (store.folder / DATABASE).unlink()
    assert (await post(store, submission(0, 5))).status_code == 503
    assert not (store.folder / DATABASE).exists()


def test_its_files_are_its_users_alone(store: Store) -> None:
    """Key and memory."""
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in store.folder.iterdir()} == {KEY: 0o600, DATABASE: 0o600}
