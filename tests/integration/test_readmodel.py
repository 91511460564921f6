"""The database keeps its rules by itself: roles, migrations, uniqueness, checks and immutability."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from contracts.readmodel.columns import LEDGER, OPERATOR, READMODEL
from kit.database import Database, Role, UnknownSchema, is_current, migrate
from kit.migrations import FOLDER, HEADS, History
from tests.integration.readmodel_tables import Session, fill, owner, prepare, store_at
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


WRITES = {
    "a post": "INSERT INTO post (id) VALUES (gen_random_uuid())",
    "the position": "UPDATE position SET sequence = 1",
    "the ledger": "INSERT INTO ledger.fact (stream) VALUES ('x')",
    "removing facts": "DELETE FROM ledger.fact",
    "keys": "INSERT INTO operator.instance_api_key (id) VALUES (gen_random_uuid())",
    "tables": "CREATE TABLE readmodel.mine (id int)",
}


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("reader", set()), ("projector", {"a post", "the position", "the ledger"}), ("operator", {"keys"})],
)
async def test_a_role_writes_its_own_tables_only(database_url: str, role: Role, allowed: set[str]) -> None:
    database = Database(database_url, role=role)
    refused = set()
    for what, statement in WRITES.items():
        async with database.connect() as connection:
            try:
                await connection.execute(text(statement))
            except ProgrammingError as error:
                if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                    refused.add(what)
            except IntegrityError:  # allowed, but the row itself is nonsense
                continue
    await database.close()
    assert refused == set(WRITES) - allowed


async def test_readers_see_everything(database_url: str) -> None:
    database = Database(database_url, role="reader")
    async with database.transaction() as connection:
        for table in ("position", "ledger.fact", "operator.instance_api_key", "investigation_doc"):
            await connection.execute(text(f"SELECT count(*) FROM {table}"))
    await database.close()


async def test_migrating_twice_at_once_and_again(stack: Servers) -> None:
    with stack.database() as url:
        began = time.perf_counter()
        await asyncio.gather(*(migrate(url) for _ in range(4)))
        first_s, began = time.perf_counter() - began, time.perf_counter()
        await migrate(url)
        again_s = time.perf_counter() - began
        assert again_s < first_s / 2
        async with await owner(url) as db:
            for schema in ("ledger", "readmodel"):
                found = await db.execute(f"SELECT version_num FROM {schema}.alembic_version")
                assert len(await found.fetchall()) == 1


async def test_a_database_of_another_version_is_left_as_it_is(stack: Servers) -> None:
    with stack.database() as url:
        await migrate(url)
        async with await owner(url) as db:
            await db.execute("UPDATE readmodel.alembic_version SET version_num = '9999'")
            with pytest.raises(UnknownSchema, match=r"'readmodel' was made by a newer version of .*9999"):
                await migrate(url)
            assert await is_current(url, "notary"), "it does not see this history"
            await db.execute("UPDATE ledger.alembic_version SET version_num = '9999'")
            with pytest.raises(UnknownSchema, match="use that version"):  # unlike an older one, which can be migrated
                await is_current(url, "notary")
            found = await db.execute("SELECT version_num FROM readmodel.alembic_version")
            assert await found.fetchall() == [("9999",)]


def test_the_migrations_make_the_tables_that_the_contract_names(database_url: str) -> None:
    live = create_engine(database_url, connect_args={"options": "-c search_path=readmodel"})
    with live.connect() as connection:
        parts = set(connection.scalars(text("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")))
        assert parts == {f"version_metadata_{site}" for site in ("lesswrong", "x", "substack", "wikipedia", "other")}
        whole = {"compare_type": True, "include_name": lambda name, kind, _: kind != "table" or name not in parts}
        assert not compare_metadata(MigrationContext.configure(connection, opts=whole), READMODEL)
        for metadata in (LEDGER, OPERATOR):
            options = {
                "compare_type": True,
                "include_schemas": True,
                "include_name": lambda name, kind, parents, schema=metadata.schema: (
                    name == schema if kind == "schema" else name != "alembic_version"
                ),
            }
            assert not compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    live.dispose()


@pytest.mark.parametrize("history", ["durable", "readmodel"])
def test_the_newest_revision_is_the_one_we_look_for(history: History) -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("version_locations", str(FOLDER / history))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [HEADS[history]]


async def refuses(db: Session, statement: str) -> str:
    """Run a statement that must fail, and say what stopped it."""
    with pytest.raises(psycopg.IntegrityError) as refusal:
        async with db.transaction():
            await db.execute(statement)
    return refusal.value.diag.constraint_name or str(refusal.value).splitlines()[0]


async def filled(url: str) -> tuple[Page, Page, Page]:
    """A finished verified investigation, one at work on the same post, and one of a reader's text on X."""
    done, working = Page("a", "first"), Page("a", "second")
    other = Page("x", platform="X", provenance="CLIENT_FALLBACK")
    tape = Tape()
    tape.add(done.registered(), *done.investigated(), working.registered(), working.requested())
    tape.add(working.started(parent=done), other.registered(), other.requested())
    store = store_at(url)
    await fill(store, tape.records)
    await store.close()
    return done, working, other


@pytest.mark.requirement("3.2-07", "3.2-08", "3.2-09", "3.2-10", "2.9-07", "2.9-09", "2.12-05")
async def test_rules_that_rows_keep(database_url: str) -> None:
    """3.2-07: A frozen input never changes.
    3.2-08: A lease exists only while a run is under way.
    3.2-09: A result has a time, anything else has none.
    3.2-10: An earlier result is complete, verified and of the same post.
    2.9-07: Provenance stored immutable per investigation.
    2.9-09: Verification is recorded once and stays.
    2.12-05: Update lineage stored.
    """
    done, working, other = await filled(database_url)
    mine = f"id = '{working.investigation_id}'"
    finished = f"id = '{done.investigation_id}'"
    async with await owner(database_url) as db:
        assert "never change" in await refuses(db, "UPDATE investigation_input SET provenance = 'CLIENT_FALLBACK'")
        assert "never change" in await refuses(db, "UPDATE content_blob SET content_text = 'other'")
        assert "never change" in await refuses(db, "UPDATE version_metadata SET document = '{}' WHERE platform = 'X'")
        assert "never change" in await refuses(db, "UPDATE claim SET summary = 'other'")
        assert "never change" in await refuses(db, f"UPDATE investigation SET model = 'x' WHERE {finished}")
        version = f"id = '{done.version_id}'"
        assert "never change" in await refuses(
            db, f"UPDATE post_version SET server_verified_at = now() WHERE {version}"
        )
        assert "never change" in await refuses(db, f"UPDATE post_version SET server_verified_at = NULL WHERE {version}")
        assert "never change" in await refuses(
            db, f"UPDATE version_metadata SET server_html_hash = NULL WHERE post_version_id = '{done.version_id}'"
        )
        await db.execute("INSERT INTO image_occurrence_set VALUES ('none', now())")
        assert "is not kept" in await refuses(
            db,
            f"""INSERT INTO post_version SELECT gen_random_uuid(), post_id, 'other', content_hash, 'none',
                now(), now(), now(), 1, correlation FROM post_version WHERE id = '{done.version_id}'""",
        )
        assert (
            await refuses(db, f"UPDATE investigation SET checked_at = now() WHERE {mine}")
            == "investigation_checked_at_check"
        )
        assert (
            await refuses(
                db,
                f"""UPDATE investigation SET input_id = NULL, prompt_hash = NULL, provider = NULL, model = NULL
                WHERE {mine}""",
            )
            == "investigation_started_check"
        )
        assert (
            await refuses(db, f"UPDATE investigation SET content_diff = NULL WHERE {mine}")
            == "investigation_content_diff_check"
        )
        assert (
            await refuses(db, f"UPDATE investigation SET parent_investigation_id = id WHERE {mine}")
            == "investigation_parent_check"
        )
        assert "must have a lease" in await refuses(db, "DELETE FROM investigation_lease")
        assert "must have a lease" in await refuses(db, f"UPDATE investigation SET status = 'PENDING' WHERE {mine}")
        waiting = f"id = '{other.investigation_id}'"
        assert "completed, verified one of the same post" in await refuses(
            db,
            f"""UPDATE investigation SET parent_investigation_id = '{done.investigation_id}', content_diff = 'd'
            WHERE {waiting}""",
        )
        assert (
            await refuses(
                db,
                f"""INSERT INTO investigation (id, post_version_id, analysis, origin, status, round, attempt_count,
                queued_at, created_at, updated_at)
            SELECT gen_random_uuid(), post_version_id, analysis, origin, 'PENDING', 1, 0, queued_at, created_at,
                updated_at
            FROM investigation WHERE {mine}""",
            )
            == "investigation_post_version_id_analysis_origin_origin_id_key"
        )
        assert (
            await refuses(
                db,
                """INSERT INTO post
                (id, platform, external_id, url, view_count, unique_view_score, hint_score, created_at, updated_at)
            SELECT gen_random_uuid(), platform, external_id, url, 0, 0, 0, created_at, updated_at FROM post""",
            )
            == "post_platform_external_id_key"
        )
        assert (
            await refuses(
                db,
                """INSERT INTO investigation_input
            VALUES (gen_random_uuid(), 'SERVER_VERIFIED', 'h', 'NONE', 'text', '1', now())""",
            )
            == "investigation_input_markdown_check"
        )
        assert (
            await refuses(
                db,
                f"""INSERT INTO version_metadata (post_version_id, platform, image_urls, document, created_at)
            VALUES ('{done.version_id}', 'LESSWRONG', '{{}}', '{{}}', now())""",
            )
            == "version_metadata_lesswrong_html_check"
        )
        assert "only ever appended" in await refuses(db, "UPDATE ledger.fact SET subject = 'x'")
        assert "only ever appended" in await refuses(db, "DELETE FROM ledger.fact")
        assert "only ever appended" in await refuses(db, "TRUNCATE ledger.fact")
