"""The public record as files: one moment, only what changed, and the same numbers as the public interface gives."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from contracts.v1.parts import Author
from kit.database import Database
from kit.settings import SettingsError
from platforms.base import HIDDEN_BY_AUTHOR
from services.commands.export.folder import Manifest, open_folder
from services.commands.export.formats import Format
from services.commands.export.run import export
from services.commands.export.tables import TABLES
from services.projector.store.store import Store
from tests.contract.exported import exported
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.support.graphql_client import graphql_client
from tests.support.public_claims import tell_claims
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import one_job
from tests.unit.projector.histories import Page, Tape, mixed

pytest_plugins = ["tests.support.servers"]

ROOT = Path(__file__).parents[2]
METRICS = """query ($platform: Platform) { publicMetrics(platform: $platform) {
    totalInvestigatedPosts investigatedPostsWithFlags factCheckIncidence } }"""
Export = Callable[..., Awaitable[Manifest]]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def tell(database_url: str, *tapes: Tape) -> None:
    store = store_at(database_url)
    for tape in tapes:
        await fill(store, tape.records)
    await store.close()


def exporter(database_url: str) -> Export:
    async def run(folder: Path, chosen: Format = "jsonl", *, full: bool = False) -> Manifest:
        database = Database(database_url, role="reader")
        try:
            return await export(database, folder, chosen, full=full)
        finally:
            await database.close()

    return run


def documented() -> str:
    """The program in docs/analysts.md."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "analysts.md").read_text(), re.DOTALL)
    return str(program)


def program(folder: Path) -> tuple[dict[str, Any], str]:
    """Run it beside a folder named `export`; its names, and what it prints."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.chdir(folder.parent), contextlib.redirect_stdout(printed):
        exec(compile(documented(), "docs/analysts.md", "exec"), names)
    names["folder"] = folder
    return names, printed.getvalue()


def contents(folder: Path) -> dict[str, list[Any]]:
    """What a reader of the files finds, by table."""
    names, _ = program(folder)
    return {table.name: sorted(map(json.dumps, names["rows"](table.name))) for table in TABLES}


def counted(manifest: Manifest) -> dict[str, int]:
    return {file["table"]: file["rows"] for file in manifest["parts"][-1]["files"]}


@pytest.mark.requirement("2.7-01", "2.7-02")
async def test_the_documented_program_finds_the_public_numbers(database_url: str, tmp_path: Path) -> None:
    """2.7-01: Author entity per platform identity, linked to posts.
    2.7-02: The share of investigated posts with findings is published.
    """
    await tell(database_url, *mixed(60, seed=3))
    await exporter(database_url)(tmp_path / "export")
    names, printed = await asyncio.to_thread(program, tmp_path / "export")
    async with graphql_client(database_url) as client:
        metrics = (await client.ask(METRICS))["publicMetrics"]
        investigations = names["investigations"]
        assert metrics["totalInvestigatedPosts"] == len({row["post_id"] for row in investigations}) > 5
        flagged = {row["post_id"] for row in investigations if row["claim_count"]}
        assert metrics["investigatedPostsWithFlags"] == len(flagged) > 0
        assert metrics["factCheckIncidence"] == names["incidence"](investigations)
        asked = sorted(
            names["by_platform"].keys() - {"ELSEWHERE"}
        )  # a site that the public interface does not name yet
        assert len(asked) > 1
        for platform, rows in ((name, names["by_platform"][name]) for name in asked):
            there = (await client.ask(METRICS, platform=platform))["publicMetrics"]
            assert there["factCheckIncidence"] == names["incidence"](rows)
    assert f"{metrics['factCheckIncidence']:7.2%}" in printed


async def test_files_hang_together(database_url: str, tmp_path: Path) -> None:
    await tell(database_url, *mixed(40, seed=5))
    manifest = await exporter(database_url)(tmp_path / "export")
    rows = {name: [json.loads(line) for line in lines] for name, lines in contents(tmp_path / "export").items()}
    ids = {name: {row.get("id") for row in found} for name, found in rows.items()}
    assert {row["post_id"] for row in rows["investigations"]} == ids["posts"]
    assert {row["version_id"] for row in rows["investigations"]} <= ids["versions"]
    assert {row["post_id"] for row in rows["versions"]} == ids["posts"]
    assert {row["claim_id"] for row in rows["sources"]} == ids["claims"] != set()
    authors = {row["author_id"] for name in ("posts", "investigations") for row in rows[name]} - {None}
    assert authors == ids["authors"]
    claims = {row["id"]: 0 for row in rows["investigations"]}
    for row in rows["claims"]:
        claims[row["investigation_id"]] += 1
    assert claims == {row["id"]: row["claim_count"] for row in rows["investigations"]}
    for row in rows["versions"]:
        assert row["content_hash"] == sha256(row["text"].encode()).hexdigest()
    for file in manifest["parts"][0]["files"]:
        data = (tmp_path / "export" / file["path"]).read_bytes()
        assert (file["sha256"], file["size_bytes"]) == (sha256(data).hexdigest(), len(data))
        assert file["rows"] == data.count(b"\n")
    sums = (tmp_path / "export" / "part-0001" / "SHA256SUMS").read_text()
    assert sums.count("\n") == len(manifest["parts"][0]["files"]) == len(TABLES) + 1


async def test_parquet_holds_the_same(database_url: str, tmp_path: Path) -> None:
    await tell(database_url, *mixed(25, seed=7))
    run = exporter(database_url)
    await run(tmp_path / "export")
    await run(tmp_path / "columns", "parquet")
    for table in TABLES:
        found = pyarrow.parquet.read_table(tmp_path / "columns" / "part-0001" / f"{table.name}.parquet")
        assert found.column_names == [column.name for column in table.columns]
        assert [str(field.type) for field in found.schema if field.name.endswith("_at")] == [
            "timestamp[us, tz=UTC]" for column in table.columns if column.kind == "time"
        ]
        plain = [json.loads(line) for line in contents(tmp_path / "export")[table.name]]
        simple = [{k: v for k, v in row.items() if not k.endswith("_at")} for row in plain]
        assert sorted(map(str, simple)) == sorted(
            str({k: v for k, v in row.items() if not k.endswith("_at")}) for row in found.to_pylist()
        )


async def test_a_second_run_adds_only_what_is_new_changed_or_gone(database_url: str, tmp_path: Path) -> None:
    first, second = Page("en:1", "One is one."), Page("en:2", "Two is two.")
    tape, views, run = Tape(), Tape("VIEWS"), exporter(database_url)
    tape.add(first.registered(), second.registered(), *first.investigated())
    await tell(database_url, tape)
    manifest = await run(tmp_path / "export")
    assert counted(manifest)["posts"] == counted(manifest)["investigations"] == 1
    claims = counted(manifest)["claims"]
    tape.add(Page("en:3", "Three is three.").registered())
    await tell(database_url, tape)
    again = await run(tmp_path / "export")
    assert again["parts"] == manifest["parts"], "nothing is new"
    assert again["positions"]["ERRATA"] == tape.records[-1].sequence, "and that is so up to now"
    assert not (tmp_path / "export" / "part-0002").exists()

    more = Tape()
    more.records = tape.records  # the same log goes on
    more.add(*second.investigated())
    views.add(first.viewed("somebody"))
    store: Store = store_at(database_url)
    await fill(store, more.records)
    await fill(store, views.records)
    await fill(store, one_job().tape.records)
    await store.close()
    manifest = await run(tmp_path / "export")
    assert counted(manifest) == {
        "authors": 1,
        "breakers": 0,
        "claims": claims,
        "control_lists": 0,
        "controls": 0,
        "deleted": 0,
        "investigations": 1,
        "leaves": 0,
        "openings": 0,
        "posts": 2,  # one is new, the other was viewed
        "review_samples": 0,
        "reviews": 0,
        "sampled_claims": 0,
        "sources": counted(manifest)["sources"],
        "variants": 0,
        "versions": 1,
        "withdrawn_claims": 0,
    }
    assert manifest["positions"] == {"ERRATA": more.records[-1].sequence, "VIEWS": 1}, "and not that of audits"
    await run(tmp_path / "whole" / "export")
    assert contents(tmp_path / "export") == contents(tmp_path / "whole" / "export")

    async with await owner(database_url) as db:
        await db.execute("DELETE FROM source WHERE ordinal = 0")
    manifest = await run(tmp_path / "export")
    assert counted(manifest)["deleted"] > 0
    await run(tmp_path / "later" / "export")
    assert contents(tmp_path / "export") == contents(tmp_path / "later" / "export")
    before = contents(tmp_path / "export")
    manifest = await run(tmp_path / "export", full=True)
    assert [part["name"] for part in manifest["parts"]] == ["part-0004"]
    assert contents(tmp_path / "export") == before
    assert sorted(path.name for path in (tmp_path / "export").iterdir()) == [
        ".lock",
        "manifest.json",
        "memory-0004.db",
        "part-0004",
    ]


async def test_what_an_interrupted_run_left_is_cleared_away(database_url: str, tmp_path: Path) -> None:
    await tell(database_url, *mixed(10, seed=1))
    run, folder = exporter(database_url), tmp_path / "export"
    await run(folder)
    before = contents(folder)
    with open_folder(folder, "jsonl") as interrupted:
        draft = interrupted.draft(full=False)
        (draft.folder / "posts.jsonl").write_text("half a li")
    os.rename(draft.folder, folder / "part-0002")  # as if it had ended just before the manifest was replaced
    assert contents(folder) == before
    assert [part["name"] for part in (await run(folder))["parts"]] == ["part-0001"]
    assert not (folder / "part-0002").exists()
    assert contents(folder) == before


async def test_two_runs_other_formats_and_strange_folders_are_refused(database_url: str, tmp_path: Path) -> None:
    run = exporter(database_url)
    with open_folder(tmp_path / "export", "jsonl"), pytest.raises(SettingsError, match="is running"):
        await run(tmp_path / "export")
    await run(tmp_path / "export")
    with pytest.raises(SettingsError, match="another format"):
        await run(tmp_path / "export", "parquet")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "diary.txt").write_text("dear diary")
    with pytest.raises(SettingsError, match="something other than an export"):
        await run(tmp_path / "strange")


def test_the_columns_are_documented_as_they_are() -> None:
    for path, text in exported().items():
        assert path.read_text() == text, "run `python -m tests.contract.write`"
    names = [table.name for table in TABLES]
    assert names == [
        *("posts", "versions", "investigations", "claims", "sources", "withdrawn_claims"),
        *("review_samples", "sampled_claims", "reviews", "leaves", "openings"),
        *("control_lists", "controls", "breakers", "variants", "authors"),
    ]


@pytest.mark.requirement("FS-52")
async def test_an_author_who_asks_not_to_be_shown_is_left_out(database_url: str, tmp_path: Path) -> None:
    """FS-52: An author's wish not to be shown without an account means not public."""
    did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
    page, other = Page(f"{did}/a", platform="BLUESKY"), Page("en:1")
    page.author = Author(platform_user_id=did, display_name="Annabel Quill")
    tape, run = Tape(), exporter(database_url)
    tape.add(*(event for each in (page, other) for event in (each.registered(), *each.investigated())))
    await tell(database_url, tape)
    shown = counted(await run(tmp_path / "export"))
    assert (shown["posts"], shown["authors"], shown["investigations"]) == (2, 2, 2)
    tape.add(page.unavailable("later", HIDDEN_BY_AUTHOR))
    await tell(database_url, tape)
    await run(tmp_path / "export")
    left = contents(tmp_path / "export")
    assert [len(left[name]) for name in ("posts", "authors", "versions", "investigations")] == [1] * 4
    assert not any(word in str(left) for word in (did, "Annabel", str(page.investigation_id)))
    tape.add(page.registered("again"))
    await tell(database_url, tape)
    await run(tmp_path / "export")
    back = contents(tmp_path / "export")
    assert [len(back[name]) for name in ("posts", "authors", "versions", "investigations")] == [2] * 4


@pytest.mark.requirement("FH-164")
async def test_no_verdict_of_the_catalogue_is_exported(database_url: str, tmp_path: Path) -> None:
    """FH-164: Catalogue pages look unlike corrections and show measured correctness"""
    run = exporter(database_url)
    await tell(database_url, *mixed(10, seed=1))
    await run(tmp_path / "before" / "export", full=True)
    await tell_claims(database_url)
    await run(tmp_path / "after" / "export", full=True)
    before, after = (contents(tmp_path / name / "export") for name in ("before", "after"))
    assert after == before
    assert "harbour" not in str(after)
