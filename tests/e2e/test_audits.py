"""An article goes in, and claims with evidence and a signed result come out, over every service."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import pytest_asyncio

from analyses.claims.normalise import make_key
from contracts.jobs.ids import parse_job_id
from services.auditor.receipts import hash_result
from tests.support.everywhere import WORDS, read_everything
from tests.support.oracle import Oracle, oracle
from tests.support.system import System, system, until
from tests.support.walk_through import GUIDE, shown_answers, walk_through

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("e2e-audits")]

CANARY = "The zebras of Quixotia sleep in violet hammocks."
WRONG = "Humans use only 10 percent of their brains."
OTHER = "A goldfish can only remember things for three seconds."
ARTICLE = f"{WRONG} Evenings are long there. {CANARY} {OTHER}"


@dataclass(frozen=True)
class World:
    """The system, and clients of its job API."""

    system: System
    oracle: Oracle
    alice: httpx.AsyncClient
    bob: httpx.AsyncClient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    settings = {"OPENERRATA_GATEWAY_JOBS": "on", "OPENERRATA_LOG_LEVEL": "debug"}
    async with system(tmp_path_factory.mktemp("audits"), **settings) as running:
        await running.up()
        keys = []
        for name in ("alice", "bob"):
            assert (await running.run("accounts", "add", name)).code == 0
            added = await running.run("keys", "add", name, "--account", name, "--right", "audit")
            assert added.code == 0, added.err
            keys.append(added.out.strip())
        clients = [
            httpx.AsyncClient(base_url=running.url, headers={"authorization": f"Bearer {key}"}, timeout=60)
            for key in keys
        ]
        async with clients[0] as alice, clients[1] as bob, oracle(running.database_url, running.nats_url) as looking:
            yield World(running, looking, alice, bob)


async def audited(client: httpx.AsyncClient, text: str = ARTICLE, **more: Any) -> dict[str, Any]:
    """An article and what became of it."""
    answer = await client.post("/v1/analyze", json={"input_text": text, **more}, headers={"prefer": "wait=30"})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert body["status"] == "SUCCEEDED", body
    return body


@pytest.mark.requirement("FH-1", "FH-11", "FH-17", "FH-50", "FH-51", "FH-143", "FH-162")
async def test_an_article_is_audited(world: World) -> None:
    """FH-1: `POST /v1/analyze` accepts an article and answers 202 with a new job.
    FH-11: The 202 body names job, status, time, cost, cache and links.
    FH-17: The result is final JSON, 409 until there is one.
    FH-50: An extraction holds metadata, claims, thesis and cost.
    FH-51: Each claim has its nine fields.
    FH-143: Every quote stands on the page as we read it, else its item is dropped and counted.
    FH-162: A result carries a signed receipt.
    """
    job = await audited(world.alice)
    result = job["result"]
    assert [claim["claim_text"] for claim in result["claims"]] == [WRONG, OTHER]
    assert {claim["rollup_verdict"] for claim in result["claims"]} == {"Refuted"}
    assert result["status"] == "complete"
    assert result["article_holistic_assessment"]["overall_verdict"] == "REFUTED"
    assert job["charged"] == result["cost"] == 0.195
    (span,) = result["claim_extraction"]["claims"][1]["spans"]
    assert ARTICLE[span["start"] : span["end"]] == OTHER
    assert (await world.alice.get(job["links"]["result"])).json() == result
    report = await world.alice.get(job["links"]["report"])
    assert report.headers["content-type"] == "text/markdown; charset=utf-8"
    assert WRONG in report.text
    keys = (await world.bob.get("/.well-known/openerrata-receipts.json")).json()
    stated = jwt.PyJWS().decode_complete(result["receipt"], jwt.PyJWKSet.from_dict(keys).keys[0], algorithms=["EdDSA"])
    assert json.loads(stated["payload"])["result_sha256"] == hash_result(result)


@pytest.mark.requirement("FH-43", "FH-68", "FH-155", "FH-22")
async def test_a_claim_that_anybody_had_analysed_is_free(world: World) -> None:
    """FH-43: A cached claim returns its full verdict at no cost, within 100 ms.
    FH-68: `prefer_cache` uses hits, `skip_cache` computes everything.
    FH-155: A cancelled job pays for its own started steps.
    FH-22: The credit of an account can be read.
    """
    await audited(world.alice)
    result = (await audited(world.bob, f"{OTHER} {WRONG}"))["result"]
    assert [claim["cache_hit"] for claim in result["claims"]] == [True, True]
    assert (result["cost"], result["stages_cached"]) == (0.033, ["stage2"])
    credit = (await world.bob.get("/v1/user/credit")).json()
    assert (credit["credit_used"], credit["credit_reserved"], credit["open_jobs"]) == (0.033, 0.0, 0)


@pytest.mark.requirement("FH-53", "FH-69")
async def test_the_same_article_again_costs_its_assessment(world: World) -> None:
    """FH-53: An extraction is shared within an account while its words are kept.
    FH-69: `allow_partial` runs only stage 3 over cached analyses.
    """
    await audited(world.alice)
    result = (await audited(world.alice, options={"cache_preference": "allow_partial"}))["result"]
    assert result["cost_breakdown"] == {
        "stage1_extraction": 0.0,
        "stage2_new_claims": 0.0,
        "stage2_cached_claims": 0.0,
        "stage3_holistic": 0.03,
    }
    assert (result["cache_used"], result["stages_cached"]) == (True, ["stage1", "stage2"])
    assert [call["stage"] for call in result["llm_calls"]] == ["stage3"]
    assert [claim["claim_text"] for claim in result["claim_extraction"]["claims"]] == [WRONG, OTHER]


@pytest.mark.requirement("FH-13", "FH-154")
async def test_an_estimate_knows_what_its_account_had_extracted(world: World) -> None:
    """FH-13: Claims to extract are estimated hits and new claims, and the basis says how.
    FH-154: An estimate buys and stores nothing.
    """
    await audited(world.alice)
    await world.oracle.settled()
    before = await world.oracle.heads()

    async def estimate(client: httpx.AsyncClient, **options: str) -> tuple[Any, ...]:
        body = {"input_text": ARTICLE, "options": options}
        found = (await client.post("/v1/estimate", json=body)).json()
        info = found["cache_info"]
        return info["basis"], info["estimated_cache_hits"], info["estimated_new_claims"], found["estimated_cost"]

    assert await estimate(world.alice) == ("memo", 2, 0, 0.03)
    assert await estimate(world.alice, depth="deep") == ("memo", 0, 2, 0.192)
    for found in (await estimate(world.alice, cache_preference="skip_cache"), await estimate(world.bob)):
        assert found[0] == "rolling_hit_rate", "nothing is known, and nothing of another account"
    assert await world.oracle.heads() == before
    assert (await audited(world.alice))["charged"] == 0.03


@pytest.mark.requirement("FH-28")
async def test_quotes_from_a_page_are_withdrawn(world: World) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    sentence = "Lightning never strikes the same place twice."
    (claim,) = (await audited(world.alice, sentence))["result"]["claims"]
    quoted = claim["scenarios"][0]["evidence"]["opposing"][0]
    rows = "SELECT count(*) FROM readmodel.evidence WHERE source_url = %s"
    verdicts = "SELECT count(*) FROM readmodel.verdict"
    await world.oracle.settled()
    assert await world.oracle.value(rows, quoted["source_url"]) > 0
    before = await world.oracle.value(verdicts)
    wanted = {"url": quoted["source_url"], "reason": "They are mine.", "contact": "owner@example.org"}
    async with httpx.AsyncClient(base_url=world.system.url) as owner:
        answer = await owner.post("/v1/rights/invalidate", json=wanted)
    assert (answer.status_code, answer.json()["state"]) == (202, "applied")

    async def gone() -> bool:
        return bool(await world.oracle.value(rows, quoted["source_url"]) == 0)

    await until(gone, "the quotes are withdrawn")
    async with httpx.AsyncClient(base_url=world.system.url) as reader:
        (listed,) = (await reader.get("/v1/rights/withdrawals")).json()["withdrawals"]
    assert listed.pop("analyses") > 0
    assert listed.pop("recorded_at") >= answer.json()["received_at"]
    assert listed == {
        "withdrawal_id": answer.json()["withdrawal_id"],
        "url_sha256": sha256(quoted["source_url"].encode()).hexdigest(),
        "claim_hash": None,
    }
    assert await world.oracle.value(verdicts) == before
    for where, text in (await read_everything(world.system, world.oracle)).items():
        assert quoted["text"] not in text or where == WORDS, where
    (again,) = (await audited(world.bob, sentence))["result"]["claims"]
    assert (again["cache_hit"], again["rollup_verdict"]) == (False, "Refuted")


@pytest.mark.requirement("FH-68")
async def test_the_cache_is_skipped_and_what_is_found_serves_from_then_on(world: World) -> None:
    """FH-68: `prefer_cache` uses hits, `skip_cache` computes everything."""
    sentence = "Lightning never strikes the same place twice."
    await audited(world.alice, sentence)
    job = await audited(world.alice, sentence, options={"cache_preference": "skip_cache"})
    result = job["result"]
    assert [claim["cache_hit"] for claim in result["claims"]] == [False]
    assert (job["charged"], result["stages_cached"]) == (0.114, [])
    assert [call["stage"] for call in result["llm_calls"]] == ["stage1", "stage2", "stage3"]
    later = (await audited(world.bob, sentence))["result"]
    assert [claim["cache_hit"] for claim in later["claims"]] == [True]
    assert [claim["analysed_at"] for claim in later["claims"]] == [claim["analysed_at"] for claim in result["claims"]]


@pytest.mark.requirement("FH-57", "FH-66")
async def test_a_sentence_is_looked_up_by_a_command(world: World) -> None:
    """FH-57: An entry names its canonical claim, version, language and samples.
    FH-66: A hit needs the same guard, so that lost numbers, symbols and accents keep claims apart.
    """
    await audited(world.alice)
    await world.oracle.settled()

    async def probe(sentence: str) -> dict[str, Any]:
        ended = await world.system.run("claims", "probe", sentence, "--json")
        assert ended.code == 0, ended.err
        found: dict[str, Any] = json.loads(ended.out)
        return found

    known = await probe(f"{WRONG[:-1].upper()}!")
    assert known["key"] == make_key(WRONG, "en")
    assert known["canonical"]["v1norm1"] == "humans use only 10 percent of their brains"
    assert (known["cache"], known["rollup"], known["samples"], known["shared_with"]) == ("hit", "REFUTED", [WRONG], 0)
    other = await probe(WRONG.replace("10", "1.0"))
    assert (other["key"], other["guard"]["numbers"]) == (known["key"], ["1.0"])
    assert (other["cache"], other["samples"], other["shared_with"]) == ("miss", [], 1)
    assert other["assertion"] != known["assertion"]
    nothing = await probe("!!!")
    assert (nothing["key"], nothing["assertion"], nothing["cache"]) == (None, None, "no claim")
    shown = await world.system.run("claims", "probe", "Rents rose 3.5% last month.", "--day", "2026-12-01")
    assert shown.code == 0
    lines = dict(
        line.split(maxsplit=1) for line in shown.out.splitlines() if line.startswith(("key", "guard", "cache"))
    )
    assert json.loads(lines["guard"]) == [["3.5"], ["%"], [], "2026-11"]
    assert lines["cache"] == "miss"


@pytest.mark.requirement("FH-165", "FH-30")
async def test_a_job_is_its_accounts_alone(world: World) -> None:
    """FH-165: Results are private to their account.
    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    links = (await audited(world.alice))["links"]
    for path in links.values():
        assert (await world.bob.get(path)).status_code == 404
        assert (await httpx.AsyncClient(base_url=world.system.url).get(path)).status_code == 401
    assert (await world.bob.delete(links["self"])).status_code == 404


@pytest.mark.requirement("FH-19")
async def test_the_events_of_a_job_are_replayed_and_end(world: World) -> None:
    """FH-19: Events of a job are a stream that resumes and ends."""
    links = (await audited(world.alice))["links"]
    whole = (await world.alice.get(links["events"])).text
    names = [line.removeprefix("event: ") for line in whole.splitlines() if line.startswith("event: ")]
    assert names == ["queued", "fetched", "extracted", "planned", "assessing", "ended"]
    ids = [line.removeprefix("id: ") for line in whole.splitlines() if line.startswith("id: ")]
    rest = await world.alice.get(links["events"], headers={"last-event-id": ids[3]})
    assert whole.endswith(rest.text.partition("\n\n")[2])
    assert (await world.alice.get(links["events"], headers={"last-event-id": ids[-1]})).status_code == 204


@pytest.mark.requirement("FH-139", "FH-141", "FH-144", "FH-167")
async def test_an_articles_words_are_nowhere_but_in_what_expires(world: World) -> None:
    """FH-139: An article's text is gone when its job ends.
    FH-141: Of a source only its description is kept.
    FH-144: Submitted text is never published by the system.
    FH-167: Facts of audits hold no words.

    FH-167: Facts hold no words.
    """
    job_id = parse_job_id((await audited(world.alice))["job_id"])

    async def closed() -> bool:
        return bool((await world.alice.get("/v1/user/credit")).json()["open_jobs"] == 0)

    await until(closed, "the job is settled")

    async def found() -> list[str]:
        everything = await read_everything(world.system, world.oracle)
        return sorted(where for where, text in everything.items() if CANARY in text)

    async def removed() -> bool:
        return not any(str(job_id) in where for where in await found())

    await until(removed, "the article's text is removed")
    assert all(where == WORDS for where in await found()), await found()
    for where, text in (await read_everything(world.system, world.oracle)).items():
        assert WRONG not in text or where.startswith((WORDS, "table readmodel.assertion")), where


def shape(document: Any) -> Any:
    """The names and kinds of a document's values."""
    match document:
        case dict():
            return {name: shape(value) for name, value in document.items()}
        case list():
            return [shape(each) for each in document[:1]]
        case bool() | None:
            return document is None
        case int() | float():
            return "number"
        case _:
            return "2026-…Z" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", document) else "text"


async def test_the_walk_through_of_the_guide_is_answered_as_it_says(world: World, tmp_path: Path) -> None:
    assert (await world.system.run("accounts", "add", "guide")).code == 0
    added = await world.system.run("keys", "add", "guide", "--account", "guide", "--right", "audit")
    walk = await asyncio.to_thread(walk_through, tmp_path, world.system.url, added.out.strip())
    assert (walk.returncode, walk.stderr) == (0, "")
    answers = shown_answers()
    assert sum(each is not None for each in answers) == 4
    for printed, shown in zip(walk.printed, answers, strict=True):
        if shown is not None:
            assert shape(json.loads(printed)) == shape(json.loads(shown)), printed
    events = GUIDE.read_text().partition("### Events")[2].partition("\n## ")[0]
    table = re.findall(r"^\| `(\w+)` \|(.*)\|$", events, re.MULTILINE)
    sent = re.findall(r"^event: (\w+)\ndata: (.*)$", walk.printed[2], re.MULTILINE)
    assert [name for name, _ in sent] == [name for name, _ in table]
    for (_, data), (_, fields) in zip(sent, table, strict=True):
        named = set(re.findall(r"`(\w+)(?:\[\])?`", re.sub(r" with .*|\(.*?\)", "", fields)))
        assert set(json.loads(data)) == named - {"code"}, "a job that succeeded has no code"
    result = json.loads((tmp_path / "result.json").read_text())
    assert [each["rollup_verdict"] for each in result["claims"]] == ["Refuted"]
    assert walk.printed[4].startswith("# Audit")
