"""A post with a published finding is erased: what any store or interface still holds of it, over real servers."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from kit.clock import SystemClock
from kit.database import open_session
from services.commands.log.monitor import visit
from tests.integration.test_lookup_service import Reader, tell
from tests.support.everywhere import read_everything
from tests.support.oracle import oracle
from tests.support.public_record import ESSAY
from tests.support.published_finding import ARTICLE, CLAIM, QUOTE, SUMMARY, changed, run_of
from tests.support.system import GivenServers, System, system, until
from tests.support.tlogs import LOG_KEY
from tlog.decision import prove_decision
from tlog.policy import Log, Policy

POLICY = Policy((Log(LOG_KEY.verifier),))
WHY = "A source is checked again, says the desk."
GUESSES = {
    "the sentence": QUOTE,
    "the correction": SUMMARY,
    "the text": ARTICLE.text[:60],
    "the address": ARTICLE.url,
    "the author": ARTICLE.author.display_name if ARTICLE.author else "",
    "the reason": WHY,
    "the hash of the text": sha256(ARTICLE.text.encode()).hexdigest(),
    "the hash of the version": ARTICLE.version_hash,
}
"""What somebody who guesses the post can compute, without any id."""
IDS = {
    "the version": str(ARTICLE.version_id),
    "the investigation": str(ARTICLE.investigation_id),
    "the claim": str(CLAIM),
}
"""They derive from the words. Subjects of the ledger and the stream keep them, so no interface may show them."""
PAGES = (
    "/",
    "/corrections",
    "/authors",
    "/retractions",
    "/log",
    "/sitemap.xml",
    "/feeds/all.atom",
    "/feeds/all.json",
    "/feeds/retractions.atom",
    "/feeds/appeals.atom",
    "/lookup/v1/b0/all",
)
ABOUT = (
    f"/posts/wikipedia/{ARTICLE.post.external_id}",
    f"/investigations/{ARTICLE.investigation_id}",
    f"/investigations/{ARTICLE.investigation_id}.json",
    f"/investigations/{ARTICLE.investigation_id}/text",
    f"/log/v1/proof/{ARTICLE.investigation_id}",
)


async def read_answers(http: httpx.AsyncClient) -> dict[str, bytes]:
    """What anybody gets, by address; buckets without their padding."""
    return {path: (await http.get(path)).content for path in (*PAGES, *ABOUT)}


def read_files(folder: Path) -> bytes:
    """Everything that an export holds."""
    return b"".join(file.read_bytes() for file in folder.rglob("*.jsonl"))


async def export(running: System, folder: Path) -> bytes:
    """All files of a new export."""
    done = await running.run("export", str(folder), within_s=120)
    assert done.code == 0, done.err
    return read_files(folder)


@pytest.mark.requirement("TR-2", "TR-19")
async def test_nothing_confirms_a_guess_of_an_erased_post(tmp_path: Path) -> None:
    """TR-2: The decision log names nothing that could be guessed: no id, address, word or unsalted hash.
    TR-19: An erased decision is still provably in the log, which says so, and nothing opens it.
    """
    with GivenServers(tmp_path / "given") as servers:
        settings = {
            **servers.settings,
            "OPENERRATA_NOTARY_KEY": LOG_KEY.secret(),
            "OPENERRATA_NOTARY_PUBLISH_S": "0.2",
        }
        async with system(tmp_path / "running", **settings) as running:
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            await running.up("projector", "gateway", "notary")
            begun = await running.run("log", "init")
            assert begun.code == 0, begun.err
            await tell(running, *run_of(ARTICLE), *run_of(ESSAY))
            async with (
                httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as http,
                oracle(running.database_url, running.nats_url) as looking,
            ):
                reader = Reader(http)

                async def found() -> bool:
                    return await reader.texts() == [QUOTE]

                await until(found, "the finding is in its bucket")
                index = prove_decision((await http.get(ABOUT[-1])).content, POLICY).index
                await tell(running, changed("SUSPENDED", 0, WHY))
                assert ARTICLE.text[:60].encode() in (await http.get(ABOUT[3])).content
                before = await export(running, tmp_path / "before")
                kept = await read_everything(running, looking)
                whole = before.decode() + "".join(kept.values())
                assert [what for what, guess in GUESSES.items() if guess not in whole] == [], "it is looked for in vain"

                erased = await running.run("post", "erase", str(ARTICLE.post_id), "--reason", "asked for", within_s=120)
                assert erased.code == 0, erased.err

                async def gone() -> bool:
                    answers = await read_answers(http)
                    return not any(
                        words.encode() in body
                        for body in answers.values()
                        for words in (*GUESSES.values(), *IDS.values())
                    )

                async def logged() -> bool:
                    return "were erased" in (await http.get("/log")).text and await reader.texts() == []

                await until(gone, "no interface shows it")
                await until(logged, "the log says so, and it has left its bucket")
                proven = prove_decision((await http.get(f"/log/v1/proof/{index}")).content, POLICY)
                assert (proven.leaf.k, proven.leaf.n, proven.documents) == ("found", 1, {})
                assert [(await http.get(path)).status_code for path in ABOUT] == [404] * len(ABOUT)

                kept = await read_everything(running, looking)
                telling = [
                    (what, where) for where, text in kept.items() for what, guess in GUESSES.items() if guess in text
                ]
                assert telling == []
                opened = [
                    where for where in ("table log.opening", "table log.subject") if IDS["the claim"] in kept[where]
                ]
                assert opened == []
                after = (await export(running, tmp_path / "after")).decode()
                assert [what for what, guess in (GUESSES | IDS).items() if guess in after] == []
                assert f'"leaf":{index},"standing":"ERASED"' in after
                url, seen = f"{running.url}/log/v1", tmp_path / "seen.json"

                async def covered() -> bool:  # the gateway keeps a note for two seconds
                    report = await visit(url, POLICY, seen, SystemClock().now())
                    return report.size == await count_leaves(running.database_url)

                await until(covered, "the note covers the erasure")
                report = await visit(url, POLICY, seen, SystemClock().now(), tmp_path / "after")
                assert report.alarms == ()


async def count_leaves(database_url: str) -> int:
    """How many leaves the log has."""
    async with await open_session(database_url) as db:
        row = await (await db.execute("SELECT count(*) FROM log.leaf")).fetchone()
    return 0 if row is None else int(row[0])
