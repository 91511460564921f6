"""A private reader over a whole system: what the notary puts into buckets is what the extension underlines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import httpx
import pytest
import pytest_asyncio

from contracts.lookup.buckets import WHOLE
from contracts.lookup.documents import Bucket, Layout
from contracts.lookup.framing import unframe
from tests.extension.chromium import reader, words
from tests.extension.conftest import KEY, World
from tests.extension.posts import BRAIN, WALL
from tests.extension.test_pages import investigated
from tests.support.sites import Sites
from tests.support.system import system, until
from tlog.decision import prove_decision
from tlog.keys import Algorithm, SigningKey
from tlog.policy import Log, Policy

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-private")]

LOG_KEY: Final = SigningKey("errata.example/log/v1", Algorithm.ED25519, bytes(range(32)))
POLICY: Final = Policy(logs=(Log(LOG_KEY.verifier),))


@pytest_asyncio.fixture(loop_scope="session")
async def logged(tmp_path: Path) -> AsyncIterator[World]:
    """A system with a decision log."""
    async with (
        Sites() as sites,
        system(
            tmp_path / "system",
            OPENERRATA_VERIFIER_WIKIPEDIA_URL=f"{sites.url}/w/api.php",
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
            OPENERRATA_NOTARY_KEY=LOG_KEY.secret(),
            OPENERRATA_NOTARY_PUBLISH_S="0.2",
        ) as running,
    ):
        await running.up()
        for arguments in (("keys", "add", "tests", "--key", KEY), ("log", "init")):
            done = await running.run(*arguments)
            assert done.code == 0, done.err
        yield World(running, sites)


async def findings(url: str) -> dict[str, str]:
    """The findings that the buckets open: the sentence of each, and its id."""
    async with httpx.AsyncClient(base_url=f"{url}/lookup/v1/", trust_env=False, timeout=30) as http:
        answer = await http.get("layout.json")
        if answer.status_code != 200:
            return {}
        layout = Layout.model_validate_json(answer.content)
        assert layout.bits == 0, "few posts have findings"
        body = await http.get(f"{layout.layout}/{WHOLE}")
    bucket = Bucket.model_validate_json(unframe(body.content))
    proofs = [version.proof for post in bucket.posts for version in post.versions]
    opened = [
        json.loads(each) for proof in proofs for each in prove_decision(proof.encode(), POLICY).documents.values()
    ]
    return {each["text"]: each["claim"] for each in opened if "claim" in each}


@pytest.mark.requirement("TR-18", "TR-26")
async def test_what_stands_in_a_bucket_is_underlined_and_what_is_taken_back_is_not(
    logged: World, package: Path
) -> None:
    """TR-18: The extension underlines only what a proof of the log confirms, where there is a log.
    TR-26: What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes.
    """
    post = await investigated(logged, BRAIN, WALL)

    async def stand(*sentences: str) -> dict[str, str] | None:
        found = await findings(logged.url)
        return found if found.keys() == set(sentences) else None

    listed = await until(lambda: stand(BRAIN, WALL), "both findings are in the bucket")
    async with reader(package) as chromium:
        await chromium.answer_yes("http://127.0.0.1/*")
        await chromium.allow("http://127.0.0.1/*")
        await chromium.settle(apiBaseUrl=logged.url)
        await chromium.desk.get_by_label(words("modePrivate")).check()
        await chromium.desk.get_by_text(words("modeSaved")).wait_for()
        page = await chromium.open(post)
        await chromium.underlines(page, [BRAIN, WALL])

        done = await logged.system.run(
            "finding", "retract", listed[WALL], "--note", "The source is about another wall."
        )
        assert done.code == 0, done.err
        await until(lambda: stand(BRAIN), "the bucket opens one finding")
        await chromium.chrome("async () => { await chrome.storage.session.clear(); return true }")
        await page.reload()
        await chromium.underlines(page, [BRAIN])
