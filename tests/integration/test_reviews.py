"""Reviews by people outside, over real servers: findings in the log, the public page, an erasure and a rebuild."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click
import orjson
import pytest
from click.testing import CliRunner

from accuracy.bounds import anytime_upper_bound
from contracts.topology import ERRATA
from contracts.v1 import ReviewDecided, ReviewSampled
from kit.database import Database
from kit.pages import read_page
from services.__main__ import main
from services.commands.erase import Erasing, StoreEraser
from services.commands.export.run import export
from services.commands.reviews.decisions import Imported, import_verdicts
from services.commands.reviews.samples import Period, SheetLine, draw, find_seed, wait_for_projection
from services.commands.reviews.sheet import BadSheet, parse_sheet, write_sheet
from services.gateway.record.repository import PublicRecord
from services.projector.erasure.erase import StoredBlob
from services.projector.erasure.root import POST
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, owner
from tests.support.fakes import StillClock
from tests.support.gateway import Running, migrated, serving
from tests.support.public_record import ESSAY, MOON, Article, Finding
from tests.support.servers import Prepare
from tests.support.site_client import client_of
from tests.support.site_server import pages_of
from tlog.encoding import encode_base64

pytest_plugins = ["tests.support.servers"]

SEED: Final = "beacon 5821734"
TABLES: Final = ("review_sample", "review_sample_claim", "review")
FURTHER: Final = Article(
    "en:77",
    "Bats are blind. Bulls hate the colour red.",
    Finding("Bats are blind.", "Bats see."),
    Finding("Bulls hate the colour red.", "Bulls do not see red as a colour of its own."),
)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


class Outside:
    """An instance with published findings, and an operator who has them reviewed once their days are over.

    These are two, since midnight may come in between.
    """

    def __init__(self, running: Running, database: Database, url: str, today: date) -> None:
        self.running, self.database, self.url = running, database, url
        self.bus = running.host.bus
        self.days = Period(today, today + timedelta(days=1))
        self.clock = StillClock(datetime.now(UTC) + timedelta(days=2))

    async def publish(self, *articles: Article) -> None:
        """Let findings be published in these days."""
        for article in articles:
            await self.running.tell(article.registered(), *article.run(rejected=1))
        await wait_for_projection(self.bus, self.database)

    async def draw(self, size: int, seed: str = SEED) -> list[SheetLine]:
        """What `openerrata reviews draw` does."""
        lines = await draw(
            self.bus, self.database, self.clock, self.days, size=size, seed=seed, base="https://o.example"
        )
        await wait_for_projection(self.bus, self.database)
        return lines

    async def review(self, lines: Sequence[SheetLine], *said: str, reviewer: str = "A. Checker") -> Imported:
        """What `openerrata reviews import` does with the sheet, filled in from its top."""
        file = io.StringIO()
        write_sheet(file, lines)
        filled = file.getvalue()
        for verdict in said:
            filled = filled.replace(",\n", f",{verdict}\n", 1)
        done = await import_verdicts(self.bus, self.database, self.clock, parse_sheet(filled.encode()), reviewer)
        await wait_for_projection(self.bus, self.database)
        return done

    async def page(self) -> tuple[str, dict[str, Any]]:
        """The page as a new reader sees it, and the same figures for machines."""
        async with pages_of(self.url, self.clock.now()) as router, client_of(router) as client:
            page, machine = await client.get("/accuracy"), await client.get("/accuracy.json")
        assert (page.status_code, machine.status_code) == (200, 200)
        return page.text, orjson.loads(machine.content)

    async def stored(self, event: type[ReviewSampled | ReviewDecided]) -> int:
        """How many such facts the log holds."""
        return len((await read_page(self.bus, ERRATA.name, (f"{event.SUBJECT}.*",), after=0, limit=100)).messages)


@pytest.fixture
async def outside(nats_url: str, database_url: str) -> AsyncIterator[Outside]:
    reader = Database(database_url, role="reader")
    async with serving(nats_url, database_url) as running:
        yield Outside(running, reader, database_url, datetime.now(UTC).date())
    await reader.close()


@pytest.mark.requirement("TR-44")
async def test_what_reviewers_said_is_shown_and_can_be_recomputed(outside: Outside, tmp_path: Path) -> None:
    """TR-44: Anybody can recompute which findings were drawn for review and the public rate."""
    page, machine = await outside.page()
    assert "Not measured." in page
    assert (machine["drawn"], machine["reviewed"], machine["wrong_at_most"], machine["samples"]) == (0, 0, None, [])

    await outside.publish(MOON, ESSAY, FURTHER)
    lines = await outside.draw(4)
    assert await outside.draw(4) == lines, "the same command writes the same sheet"
    assert await outside.stored(ReviewSampled) == 1
    page, machine = await outside.page()
    assert "wait for their reviewers" in page
    assert machine["refused"] == {"days": 30, "by_gate": {"MODEL": 3}}
    async with PublicRecord(outside.database).open() as session:
        assert await session.reviews.refusals(datetime.now(UTC)) == ()

    assert await outside.review(lines, "RIGHT", "RIGHT", "PARTLY", "") == Imported(3, 0)
    assert await outside.review(lines, "RIGHT", "RIGHT", "PARTLY", "") == Imported(0, 3)
    assert await outside.review(lines, "WRONG", "RIGHT", reviewer="B") == Imported(2, 0), "whatever A said"
    assert await outside.stored(ReviewDecided) == 5
    page, machine = await outside.page()
    counted = {name: machine[name] for name in ("drawn", "reviewed", "right", "partly", "wrong")}
    assert counted == {"drawn": 4, "reviewed": 3, "right": 1, "partly": 1, "wrong": 1}
    assert "of shown corrections are wrong" in page
    assert SEED in page
    assert {(each["model"], each["prompt_version"]) for each in machine["variants"]} <= {
        ("gpt-5.4", "v1"),
        ("demo-catalogue", "v1"),
    }

    await export(outside.database, tmp_path / "export", "jsonl", full=True)
    recomputed = recompute(tmp_path / "export", outside.days)
    assert recomputed["drawn"] == [str(line.claim_id) for line in lines]
    assert recomputed["wrong"] == machine["wrong"]
    assert machine["wrong_at_most"] == pytest.approx(anytime_upper_bound(1, 3), abs=1e-9)


@pytest.mark.requirement("TR-44")
async def test_the_seed_is_a_root_that_nobody_could_choose(outside: Outside) -> None:
    """TR-44: Anybody can recompute which findings were drawn for review and the public rate."""
    over = outside.days.end
    with pytest.raises(click.ClickException, match="--seed"):
        await find_seed(outside.database, outside.days)
    async with await owner(outside.url) as db:
        for size, signed_at, is_witnessed in (
            (3, over - timedelta(seconds=1), True),
            (5, over, False),
            (8, over + timedelta(hours=1), True),
            (9, over + timedelta(hours=2), True),
        ):
            note = f"errata.example/log/v1\n{size}\n{encode_base64(bytes([size]) * 32)}\n\n\u2014 x AAAAAAA=\n".encode()
            row = (size, b"", note, signed_at, signed_at, signed_at if is_witnessed else None)
            await db.execute("INSERT INTO log.checkpoint VALUES (%s, %s, %s, %s, %s, %s)", row)
    seed = f"errata.example/log/v1 8 {encode_base64(bytes([8]) * 32)}"
    assert await find_seed(outside.database, outside.days) == seed
    period = outside.days
    ReviewSampled(seed=seed, first_day=period.first, last_day=period.last, size=1, drawn_from=0, claim_ids=())


def recompute(folder: Path, days: Period) -> dict[str, Any]:
    """What somebody finds who has the export alone, and none of our code."""

    def rows(name: str) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in (folder / "part-0001" / f"{name}.jsonl").read_bytes().splitlines()]

    checked = {
        row["id"] for row in rows("investigations") if f"{days.first}" <= row["checked_at"][:10] <= f"{days.last}"
    }
    published = [row["id"] for row in rows("claims") if row["investigation_id"] in checked]
    (sample,) = rows("review_samples")
    assert sample["drawn_from"] == len(published)
    hashed = sorted(published, key=lambda id_: hashlib.sha256(f"{sample['seed']}\n{id_}".encode()).digest())
    drawn = hashed[: sample["size"]]
    assert [row["claim_id"] for row in sorted(rows("sampled_claims"), key=lambda row: row["place"])] == drawn
    return {"drawn": drawn, "wrong": len({row["claim_id"] for row in rows("reviews") if row["verdict"] == "WRONG"})}


async def test_the_commands_store_and_show_what_reviewers_said(
    outside: Outside, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENERRATA_NATS_URL", nats_url)
    monkeypatch.setenv("OPENERRATA_DATABASE_URL", outside.url)
    # A command configures the logging of its process, which is that of all tests here.
    monkeypatch.setattr("kit.telemetry.configure_logging", lambda **_: None)
    monkeypatch.chdir(tmp_path)
    await outside.publish(MOON)
    one, other = await outside.draw(2)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"claim,verdict\n{one.claim_id},RIGHT\n{other.claim_id},WRONG\n")

    async def run(*arguments: str) -> str:
        ended = await asyncio.to_thread(CliRunner().invoke, main, ["reviews", *arguments])
        assert ended.exit_code == 0, ended.output
        await wait_for_projection(outside.bus, outside.database)
        return ended.stdout

    assert await run("import", "sheet.csv", "--reviewer", "A") == "2 verdicts stored, 0 known before\n"
    assert await run("import", "sheet.csv", "--reviewer", "A") == "0 verdicts stored, 2 known before\n"
    shown = orjson.loads(await run("show", "--json"))
    assert (shown["right"], shown["partly"], shown["wrong"]) == (1, 0, 1)
    assert (shown["samples"][0]["seed"], shown["wrong_at_most"]) == (SEED, anytime_upper_bound(1, 2))
    assert f"2 of 2  {SEED}\nreviewed  2\n" in await run("show")

    sheet.write_text(f"claim,verdict\n{one.claim_id},WRONG\n{UUID(int=7)},RIGHT\n")
    ended = await asyncio.to_thread(CliRunner().invoke, main, ["reviews", "import", "sheet.csv", "--reviewer", "A"])
    assert (ended.exit_code, ended.output) == (
        1,
        f"Error: sheet.csv: line 3: {UUID(int=7)} is in no sample, or was erased\n",
    )
    day = f"{outside.days.last}"
    asked = ["reviews", "draw", "--from", day, "--to", day, "--size", "2", "--seed", SEED]
    ended = await asyncio.to_thread(CliRunner().invoke, main, asked)
    assert (ended.exit_code, ended.output) == (
        1,
        f"Error: {day} is not over in UTC; a sample is drawn from whole days\n",
    )


async def test_a_reviewer_may_change_their_mind_more_than_once(outside: Outside) -> None:
    await outside.publish(MOON)
    lines = await outside.draw(1)
    for said in ("RIGHT", "WRONG", "RIGHT"):
        assert await outside.review(lines, said) == Imported(1, 0)
        _, machine = await outside.page()
        assert machine[said.lower()] == machine["reviewed"] == 1


async def test_nothing_is_stored_if_one_line_is_wrong_or_the_day_is_not_over(outside: Outside) -> None:
    await outside.publish(MOON)
    with pytest.raises(click.ClickException, match="is not over"):
        outside.clock = StillClock(datetime.now(UTC))
        await outside.draw(1)
    outside.clock = StillClock(datetime.now(UTC) + timedelta(days=2))
    (line,) = await outside.draw(1)
    stranger = SheetLine(UUID(int=7), "/", "Never drawn.", "No.")
    with pytest.raises(BadSheet, match=f"line 3: {stranger.claim_id} is in no sample"):
        await outside.review([line, stranger], "RIGHT", "RIGHT")
    assert await outside.stored(ReviewDecided) == 0


async def test_an_erased_finding_leaves_no_review_and_a_rebuild_agrees(outside: Outside) -> None:
    await outside.publish(MOON, FURTHER)
    lines = await outside.draw(10)
    await outside.review(lines, *("WRONG" for _ in lines))
    before = await everything(outside.url)
    assert [len(before[name]) for name in TABLES] == [1, 4, 4]
    await rebuild(outside.url, NoTexts(), analyses=ANALYSES)
    assert await reviews_of(outside) == {name: before[name] for name in TABLES}

    gone = {str(MOON.claim(number)[0]) for number in (0, 1)}
    await erase(outside, MOON)
    after = await reviews_of(outside)
    assert [len(after[name]) for name in TABLES] == [1, 2, 2]
    assert not gone & {row["claim_id"] for name in TABLES[1:] for row in after[name]}
    assert await outside.stored(ReviewDecided) == 2, "what was said of it left the log too"
    page, machine = await outside.page()
    assert "2 erased" in page
    assert (machine["reviewed"], machine["wrong"], machine["samples"][0]["drawn"]) == (2, 2, 4)
    assert [line.claim_id for line in await outside.draw(10)] == [
        line.claim_id for line in lines if str(line.claim_id) not in gone
    ], "the same sheet, without what was erased"
    await rebuild(outside.url, NoTexts(), analyses=ANALYSES)
    assert await reviews_of(outside) == after


async def reviews_of(outside: Outside) -> dict[str, list[dict[str, Any]]]:
    tables = await everything(outside.url)
    return {name: tables[name] for name in TABLES}


class LogOnly(StoreEraser):
    """Without a blob store."""

    async def erase_blob(self, blob: StoredBlob) -> None:
        pass

    async def erase_folder(self, place: str) -> None:
        pass


async def erase(outside: Outside, article: Article) -> None:
    async with await owner(outside.url) as db:
        eraser = LogOnly(outside.bus, outside.running.host.blobs)
        await Erasing(db, eraser).erase(POST, article.post_id, "ASKED_FOR", (article.post.external_id,))
