"""What readers and monitors see of the decision log, over a real gateway."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import httpx
import orjson
import pytest

from contracts.v1 import ErasureOrdered
from contracts.v1.erasure import ErasedFact
from services.commands.log.exported import NotAnExport, compare, read_export
from services.commands.log.monitor import NotVisited, visit
from tests.integration.readmodel_tables import owner
from tests.support.explained import statements
from tests.support.gateway import migrated, serving
from tests.support.notaries import KEY, OPENED, POLICY, Instance, MemoryObjects
from tests.support.public_record import ESSAY, MOON, Article, Finding
from tests.support.published_finding import ARTICLE, CLAIM, QUOTE, SUMMARY, Published, changed
from tests.support.servers import Prepare
from tests.support.sites import Answer, Sites
from tests.support.system import until
from tests.unit.projector.histories import uid
from tlog.checkpoint import Checkpoint
from tlog.decision import prove_decision
from tlog.errors import TlogError
from tlog.keys import Algorithm, SigningKey
from tlog.leaf import Leaf
from tlog.merkle import Tree, hash_leaf
from tlog.note import Note
from tlog.policy import Log, Policy
from tlog.tiles import (
    Bundle,
    Frontier,
    Tile,
    bundle_growth,
    decode_bundle,
    encode_bundle,
    fold_complete,
    growth,
    split_tile,
)

pytest_plugins = ["tests.support.servers"]

PROOF = f"/log/v1/proof/{ARTICLE.investigation_id}"
QUERY = """query ($id: ID!) { publicInvestigation(investigationId: $id) {
    decisions { index kind recordedAt proof } } }"""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


class Logged(Published):
    """An instance that publishes findings and keeps a decision log."""

    notary: Instance

    @property
    def http(self) -> httpx.AsyncClient:
        return self.running.http

    async def record(self) -> int:
        """Enter and publish everything; the size of the note that readers get."""
        await self.notary.enter()
        await self.notary.publisher.publish()
        size = self.notary.objects.checkpoint().size

        async def served() -> bool:
            return (await self.checkpoint()).size == size

        await until(served, "the newest note is served")
        return size

    async def checkpoint(self) -> Checkpoint:
        """What the served note says; nothing of size 0 if there is none."""
        response = await self.http.get("/log/v1/checkpoint")
        if response.status_code == 404:
            return Checkpoint("", 0, b"")
        return Checkpoint.parse(Note.parse(response.content).text)


@pytest.fixture
async def logged(nats_url: str, database_url: str) -> AsyncIterator[Logged]:
    async with serving(nats_url, database_url) as running:
        found = Logged(running, database_url)
        found.notary = Instance(database_url, MemoryObjects())
        await found.tell(OPENED, MOON.registered(), *MOON.run(), ARTICLE.registered(), *ARTICLE.run(rejected=1))
        yield found
        await found.notary.close()


@pytest.mark.requirement("TR-17")
async def test_a_decision_is_proved_by_what_every_interface_links(logged: Logged) -> None:
    """TR-17: Page, document and GraphQL of an investigation lead to the same proof of each decision about it."""
    assert (await logged.http.get("/log/v1/checkpoint")).status_code == 404
    assert "keeps no decision log" in await logged.page("/log")
    await logged.record()
    await logged.tell(changed("SUSPENDED", 0, "A source is checked again."))
    size = await logged.record()

    document = orjson.loads(await logged.page(f"/investigations/{ARTICLE.investigation_id}.json"))
    assert [each["kind"] for each in document["decisions"]] == ["found", "suspended"]
    assert (await logged.ask(QUERY))["publicInvestigation"]["decisions"] == document["decisions"]
    page = await logged.page(f"/investigations/{ARTICLE.investigation_id}")
    for decision in document["decisions"]:
        assert f'href="{decision["proof"]}"' in page
        proof = await logged.http.get(decision["proof"])
        proven = prove_decision(proof.content, POLICY)
        assert (proven.index, proven.size, proven.leaf.k) == (decision["index"], size, decision["kind"])
    found, suspended = [(await logged.http.get(each["proof"])).content for each in document["decisions"]]
    assert (await logged.http.get(PROOF)).content == found
    run, finding = prove_decision(found, POLICY).documents.values()
    assert orjson.loads(run)["contentHash"] == sha256(ARTICLE.text.encode()).hexdigest()
    assert (orjson.loads(finding)["text"], orjson.loads(finding)["summary"]) == (QUOTE, SUMMARY)
    (why,) = prove_decision(suspended, POLICY).documents.values()
    assert (orjson.loads(why)["claim"], orjson.loads(why)["state"]) == (str(CLAIM), "SUSPENDED")
    assert prove_decision(suspended, POLICY).leaf.ref == (document["decisions"][0]["index"],)
    log = await logged.page("/log")
    assert "Errors were found" in log
    assert "A finding was suspended, about entry" in log
    assert SUMMARY not in log


@pytest.mark.requirement("TR-20")
async def test_a_proof_takes_one_statement(logged: Logged) -> None:
    """TR-20: Many decisions enter at once, and a proof takes one statement, however long the log is."""
    await logged.record()
    first, second = (f"/log/v1/proof/{each.investigation_id}" for each in (MOON, ARTICLE))
    await logged.http.get(first)  # the note and the tiles are kept
    async with statements() as taken:
        assert (await logged.http.get(second)).status_code == 200
    read = [statement for transaction in taken.transactions for statement, _ in transaction if "log." in statement]
    assert len(read) == 1


async def test_an_altered_proof_proves_nothing(logged: Logged) -> None:
    await logged.record()
    proof = (await logged.http.get(PROOF)).content
    head, extra, rest = proof.split(b"\n", 2)
    for at in range(6, len(extra), 97):
        altered = b"\n".join((head, extra[:at] + (b"A" if extra[at] != 65 else b"B") + extra[at + 1 :], rest))
        with pytest.raises(TlogError):
            prove_decision(altered, POLICY)


async def test_documents_go_to_who_knows_the_investigation(logged: Logged) -> None:
    """By their index anybody could list what is in no list."""
    size = await logged.record()
    opening, *others = [(await logged.http.get(f"/log/v1/proof/{index}")).content for index in range(size)]
    assert [prove_decision(each, POLICY).documents for each in others] == [{}] * (size - 1)
    (document,) = prove_decision(opening, POLICY).documents.values()
    assert orjson.loads(document)["origin"] == KEY.name
    for name in (
        size,
        "x",
        uid("unknown"),
        f"{uid('unknown')}/0",
        f"{ARTICLE.investigation_id}/0",
        "1/1",
        "-1",
        "9" * 30,
    ):
        assert (await logged.http.get(f"/log/v1/proof/{name}")).status_code == 404, name


async def test_what_is_under_no_published_note_is_not_proved_yet(logged: Logged) -> None:
    size = await logged.record()
    await logged.tell(changed("SUSPENDED", 0, "A source is checked again."))
    await logged.notary.enter()
    async with await owner(logged.url) as db:
        await db.execute(
            "INSERT INTO log.checkpoint SELECT %s, root, note, signed_at, NULL, NULL FROM log.checkpoint", (size + 1,)
        )
    early = await logged.http.get(f"/log/v1/proof/{ARTICLE.investigation_id}/{size}")
    assert (early.status_code, "under no note yet" in early.text) == (404, True)
    assert f"over {size} entries" in await logged.page("/log")
    assert "A finding was suspended" not in await logged.page("/log")


@pytest.mark.requirement("TR-10")
@pytest.mark.parametrize("size", [1, 255, 256, 257, 70_000])
async def test_tiles_have_their_paths_widths_and_headers(logged: Logged, size: int) -> None:
    """TR-10: Tiles have the paths and widths of the specification."""
    leaves = [b"%d" % number for number in range(size)]
    _, tiles = Frontier().grow([hash_leaf(leaf) for leaf in leaves])
    nodes = [
        (tile.level + 1, tile.number, fold_complete(split_tile(tile, data)))
        for tile, data in tiles
        if tile.width == 256
    ]
    async with await owner(logged.url) as db, db.cursor() as cursor:
        await db.execute("INSERT INTO log.state VALUES ('big', 0, %s, '')", (size,))
        async with cursor.copy("COPY log.leaf FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int8", "int8", "uuid", "bytea", "bytea"])
            for number, leaf in enumerate(leaves):
                await copy.write_row((number, number, uid(f"{number}"), leaf, hash_leaf(leaf)))
        await cursor.executemany("INSERT INTO log.node VALUES (%s, %s, %s)", nodes)
        root = Tree().append(map(hash_leaf, leaves)).root()
        note = f"big\n{size}\n"
        await db.execute(
            "INSERT INTO log.checkpoint VALUES (%s, %s, %s, now(), now(), NULL)",
            (size, root, f"{note}\n\u2014 x AAAAAAA=\n".encode()),
        )
    wanted: list[tuple[Tile | Bundle, bytes]] = [*tiles[:2], *tiles[-3:]]
    assert {tile for tile, _ in tiles} == set(growth(0, size))
    for what, data in wanted:
        response = await logged.http.get(f"/log/v1/{what.path}")
        assert (response.status_code, response.content) == (200, data), what
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers["access-control-allow-origin"] == "*"
    for bundle in bundle_growth(0, size)[-2:]:
        response = await logged.http.get(f"/log/v1/{bundle.path}", headers={"accept-encoding": "gzip"})
        assert response.headers["content-encoding"] == "gzip"
        assert list(decode_bundle(bundle, response.content)) == leaves[bundle.number * 256 :][: bundle.width]
        plain = await logged.http.get(f"/log/v1/{bundle.path}", headers={"accept-encoding": "gzip;q=0"})
        assert (plain.content, "content-encoding" in plain.headers) == (response.content, False)
    beyond = Tile(0, size // 256, size % 256 + 1) if size % 256 < 255 else Tile(0, size // 256)
    for path in (beyond.path, Tile(0, size // 256 + 1).path, "tile/0/00", "tile/x/000", "tile/64/000", "other"):
        assert (await logged.http.get(f"/log/v1/{path}")).status_code == 404, path


@pytest.mark.requirement("TR-19")
async def test_what_was_erased_is_proved_to_nobody_and_still_in_the_tree(logged: Logged) -> None:
    """TR-19: An erased decision is still provably in the log, which says so, and nothing opens it."""
    await logged.record()
    index = prove_decision((await logged.http.get(PROOF)).content, POLICY).index
    async with await owner(logged.url) as db:
        found = await db.execute("SELECT sequence FROM ledger.fact WHERE stream = 'ERRATA' ORDER BY sequence")
        named = tuple(ErasedFact(sequence=sequence, hash="0" * 64) for (sequence,) in (await found.fetchall())[1:])
    await logged.tell(ErasureOrdered(erasure_id=uid("e"), post_id=ARTICLE.post_id, reason="asked for", facts=named))
    await logged.record()
    assert (await logged.http.get(PROOF)).status_code == 404
    proven = prove_decision((await logged.http.get(f"/log/v1/proof/{index}")).content, POLICY)
    assert (proven.leaf.k, proven.documents) == ("found", {})
    async with await owner(logged.url) as db:
        openings = await (await db.execute("SELECT DISTINCT index FROM log.opening")).fetchall()
        subjects = await (await db.execute("SELECT DISTINCT index FROM log.subject")).fetchall()
    assert openings == subjects == [(0,)]


@pytest.mark.requirement("TR-15")
async def test_a_monitor_that_visits_sees_what_was_altered(logged: Logged, tmp_path: Path) -> None:
    """TR-15: A monitor raises an alarm on each way to tamper with the log, and on no honest log."""
    url, file, now = f"{logged.http.base_url}/log/v1/", tmp_path / "seen.json", datetime.now(UTC)
    with pytest.raises(NotVisited, match="404"):
        await visit(url, POLICY, file, now)
    size = await logged.record()
    first = await visit(url, POLICY, file, now)
    assert (first.size, first.new, first.alarms) == (size, size, ())
    await logged.tell(changed("SUSPENDED", 0, "A source is checked again."))
    await logged.record()
    second = await visit(url, POLICY, file, now)
    assert (second.size, second.new, second.alarms) == (size + 1, 1, ())
    policy = Policy.parse((await logged.http.get("/log/v1/policy")).content)
    assert (await visit(url, policy, file, now)).alarms == ()
    other = Policy(logs=(Log(SigningKey(KEY.name, Algorithm.ED25519, bytes(32)).verifier),))
    (alarm,) = (await visit(url, other, file, now)).alarms
    assert "not valid under the policy" in str(alarm)
    async with await owner(logged.url) as db:
        await db.execute("ALTER TABLE log.leaf DISABLE TRIGGER append_only")
        await db.execute("UPDATE log.leaf SET data = replace(encode(data, 'escape'), 'found', 'failed')::bytea")
    await logged.tell(*ESSAY.run())
    await logged.record()
    (alarm,) = (await visit(url, POLICY, tmp_path / "new.json", now)).alarms
    assert "not that of the leaves" in str(alarm)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(NotVisited, match="not the file of a monitor"):
        await visit(url, POLICY, tmp_path / "bad.json", now)


async def test_a_monitor_unpacks_nothing_that_is_packed_twice(tmp_path: Path) -> None:
    """Three kilobytes of that are gigabytes, which end a monitor as an alarm would."""
    bomb = Answer(200, {"content-encoding": "gzip, gzip"}, gzip.compress(gzip.compress(bytes(1_000))))
    async with Sites(pages={"/checkpoint": bomb}) as log:
        with pytest.raises(NotVisited, match="bad_encoding"):
            await visit(log.url, POLICY, tmp_path / "seen.json", datetime.now(UTC))


@pytest.mark.parametrize("time", [1_800_000_000_000, 2**63 - 1])
async def test_a_witness_with_another_unit_of_time_is_an_alarm(tmp_path: Path, time: int) -> None:
    """A time of which there is no date."""
    leaf = Leaf(k="log", t=0, why="OPENED").encode()
    text = str(Checkpoint(KEY.name, 1, hash_leaf(leaf)))
    witness = SigningKey("w.example", Algorithm.COSIGNATURE, bytes(32))
    note = bytes(Note(text, (KEY.sign(text), witness.sign(text, time))))
    policy = Policy.parse(f"log {KEY.verifier}\nwitness w {witness.verifier}\nquorum w\n".encode())
    bundle = Bundle(0, 1)
    pages = {"/checkpoint": note, f"/{bundle.path}": encode_bundle([leaf])}
    async with Sites(pages={path: Answer(body=body) for path, body in pages.items()}) as log:
        report = await visit(log.url, policy, tmp_path / "seen.json", datetime.now(UTC))
    assert [str(each) for each in report.alarms] == [
        "a witness dates its cosignature in the future, 9999-12-31 23:59 UTC"
    ]


@pytest.mark.requirement("TR-16")
async def test_export_and_log_contradict_each_other_nowhere(logged: Logged, tmp_path: Path) -> None:
    """TR-16: Every finding of an export was logged in its words, and every logged one is shown or was taken back."""
    folder = tmp_path / "export"
    unlisted = Article(
        "en:90", "Only a reader knows this. So they say.", Finding("So they say.", "No."), verified=False
    )
    await logged.tell(unlisted.registered(), *unlisted.run())
    await logged.record()
    await logged.exported(folder)
    assert not any(str(unlisted.investigation_id) in file.read_text() for file in folder.rglob("*.jsonl"))
    url, now = f"{logged.http.base_url}/log/v1/", datetime.now(UTC)
    report = await visit(url, POLICY, tmp_path / "seen", now, folder)
    assert report.alarms == ()
    shown, leaves = read_export(folder), await logged.notary.leaves()
    assert (len(shown.claims), len(shown.openings), list(compare(shown, leaves))) == (3, 6, [])

    def alarms(**changes: object) -> list[str]:
        return [str(alarm) for alarm in compare(shown.model_copy(update=changes), leaves)]

    claim, *others = shown.claims
    reworded = claim.model_copy(update={"summary": "It is so."})
    opened = [each for each in shown.openings if claim.id not in each.document]
    altered = [each.model_copy(update={"document": each.document.replace("is", "is not")}) for each in shown.openings]
    assert alarms(claims=[reworded, *others]) == [f"the finding {claim.id} is shown in other words than were logged"]
    assert alarms(claims=others) == [f"the finding {claim.id} was logged, and is neither shown nor taken back"]
    assert alarms(openings=opened)[0] == f"the finding {claim.id} is shown, and no leaf under the note is about it"
    assert any("not what it commits to" in each for each in alarms(openings=altered))
    assert any("not under the note" in str(each) for each in compare(shown, leaves[:1]))

    await logged.tell(changed("SUSPENDED", 0, "A source is checked again."))
    await logged.record()
    await logged.exported(folder)
    assert (await visit(url, POLICY, tmp_path / "seen", now, folder)).alarms == ()
    async with await owner(logged.url) as db:
        await db.execute("DELETE FROM log.opening WHERE index = 1")
    await logged.exported(folder)
    assert "leaf 1: what it commits to is gone, and no leaf says that it was erased" in map(
        str, (await visit(url, POLICY, tmp_path / "seen", now, folder)).alarms
    )
    async with await owner(logged.url) as db:
        found = await db.execute("SELECT sequence FROM log.leaf WHERE index = 1")
        named = tuple(ErasedFact(sequence=sequence, hash="0" * 64) for (sequence,) in await found.fetchall())
    await logged.tell(ErasureOrdered(erasure_id=uid("e"), post_id=MOON.post_id, reason="asked for", facts=named))
    await logged.record()
    await logged.exported(folder)
    assert (await visit(url, POLICY, tmp_path / "seen", now, folder)).alarms == ()
    with pytest.raises(NotAnExport):
        await visit(url, POLICY, tmp_path / "seen", now, folder / "part-0001")
