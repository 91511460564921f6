"""Objections to quotes: anybody may send one, a few a day, and what they say is in no fact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from contracts.jobs.rights import AppliedWithdrawals, Withdrawal
from contracts.jobs.words import FlagWords
from contracts.v1 import AssertionInvalidated, FlagRaised
from kit.history import StoredFact
from tests.support.job_api import opened, problem, send
from tests.support.job_log import MemoryJobLog
from tests.support.objections import decision
from tests.unit.gateway.fakes import NOW, Bench

PATH = "/v1/rights/invalidate"
LIST = "/v1/rights/withdrawals"
PAGE = "https://news.example/a?b=1"
HASH = f"sha256:{'a' * 64}"
SAID = {"reason": "They are my words.", "contact": "owner@news.example"}


async def object_to(bench: Bench, **wanted: Any) -> Any:
    return await send(bench, "POST", PATH, SAID | wanted, key="")


@pytest.mark.requirement("FH-28")
@pytest.mark.parametrize(
    ("wanted", "state", "entity"),
    [({"url": "HTTPS://News.Example/a?b=1#top"}, "applied", "SOURCE"), ({"claim_hash": HASH}, "queued", "CLAIM")],
)
async def test_an_objection_is_stored_without_its_words(wanted: dict[str, str], state: str, entity: str) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    bench = opened()
    response = await object_to(bench, **wanted)
    assert response.status_code == 202, response.text
    withdrawal = Withdrawal.model_validate_json(response.content)
    (flag,) = bench.jobs.of(FlagRaised)
    assert (withdrawal.withdrawal_id, withdrawal.received_at, withdrawal.state) == (flag.flag_id, NOW, state)
    assert (flag.entity_type, flag.issue_type, flag.account_id) == (entity, "RIGHTS", None)
    assert flag.url_sha256 == (sha256(PAGE.encode()).hexdigest() if "url" in wanted else None)
    assert flag.claim_sha256 == (None if "url" in wanted else "a" * 64)
    assert flag.range_key is not None
    ((place, text),) = bench.words.texts.items()
    assert place == flag.description.place
    assert FlagWords.model_validate_json(text) == FlagWords(**SAID, **wanted)
    assert not any(word in flag.model_dump_json() for word in ("news.example", "words", "News"))


@pytest.mark.requirement("FH-28")
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"url": PAGE, "claim_hash": HASH},
        {"url": "ftp://news.example/a"},
        {"url": "https://a:b@news.example/a"},
        {"claim_hash": "a" * 64},
        {"url": PAGE, "reason": ""},
        {"url": PAGE, "reason": "x" * 2_001},
        {"url": PAGE, "contact": "x" * 321},
        {"url": PAGE, "more": 1},
    ],
)
async def test_what_is_no_objection_is_refused(wanted: dict[str, Any]) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    bench = opened()
    problem(await object_to(bench, **wanted), "VALIDATION_ERROR")
    assert (bench.jobs.of(FlagRaised), bench.words.texts) == ([], {})


@pytest.mark.requirement("FH-28")
async def test_a_network_sends_ten_a_day() -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    bench = opened()
    for left in range(9, -1, -1):
        response = await object_to(bench, url=PAGE)
        assert response.status_code == 202
        assert response.headers["ratelimit"].startswith(f'"rights";r={left};')
    refused = await object_to(bench, url=PAGE)
    problem(refused, "RATE_LIMITED")
    assert refused.headers["retry-after"] == "8640"
    assert len(bench.jobs.of(FlagRaised)) == 10


@pytest.mark.requirement("FH-28")
async def test_withdrawals_are_listed_by_the_hash_of_their_address() -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    bench = opened(reads_rate="2/60")
    for wanted in ({"url": PAGE}, {"url": f"{PAGE}&unquoted"}, {"claim_hash": HASH}, {"url": f"{PAGE}&c=2"}):
        assert (await object_to(bench, **wanted)).status_code == 202
    first, _, claim, last = bench.jobs.of(FlagRaised)
    bench.clock.pass_by(60)
    bench.jobs.add(agreed := decision(claim))
    for cause, number in ((first, 1), (first, 2), (last, 3), (agreed, 5), (first, 2)):
        gone = AssertionInvalidated(assertion_id=UUID(int=number), analysis_id=UUID(int=number), why="RIGHTS")
        bench.jobs.add(gone, cause=cause.event_id())
    bench.jobs.add(AssertionInvalidated(assertion_id=UUID(int=4), why="EDIT"))
    listed = await send(bench, "GET", LIST, key="")
    found = AppliedWithdrawals.model_validate_json(listed.content).withdrawals
    assert [(each.withdrawal_id, each.url_sha256, each.claim_hash, each.analyses) for each in found] == [
        (claim.flag_id, None, HASH, 1),
        (last.flag_id, last.url_sha256, None, 1),
        (first.flag_id, first.url_sha256, None, 2),
    ]
    assert [each.recorded_at for each in found] == [NOW + timedelta(seconds=60), NOW, NOW]
    assert not any(word in listed.text for word in ("news.example", "My", "contact"))
    assert listed.headers["ratelimit"].startswith('"reads";r=1;')
    assert (await send(bench, "GET", LIST, key="")).status_code == 200
    problem(await send(bench, "GET", LIST, key=""), "RATE_LIMITED")
    bench.jobs.add(
        AssertionInvalidated(assertion_id=UUID(int=6), analysis_id=UUID(int=6), why="RIGHTS"), cause=last.event_id()
    )
    bench.clock.pass_by(60)
    later = AppliedWithdrawals.model_validate_json((await send(bench, "GET", LIST, key="")).content).withdrawals
    assert [each.analyses for each in later] == [1, 2, 2]


async def test_a_look_at_withdrawals_reads_only_what_is_new_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may ask for the list, and anybody may object."""
    bench, read, sizes = opened(), MemoryJobLog.read, list[int]()

    async def count(log: MemoryJobLog, *patterns: str, after: int = 0) -> Sequence[StoredFact]:
        found = await read(log, *patterns, after=after)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(MemoryJobLog, "read", count)
    for number in range(3):
        assert (await object_to(bench, url=f"{PAGE}&n={number}")).status_code == 202
    assert await listed_ids(bench) == []
    first, *_, last = bench.jobs.of(FlagRaised)
    for cause, number in ((last, 1), (first, 2)):
        gone = AssertionInvalidated(assertion_id=UUID(int=number), analysis_id=UUID(int=number), why="RIGHTS")
        bench.jobs.add(gone, cause=cause.event_id())
    bench.clock.pass_by(60)
    assert await listed_ids(bench) == [last.flag_id, first.flag_id]
    assert sizes == [3, 2]


async def test_a_withdrawal_is_listed_no_longer_once_its_objection_is_erased() -> None:
    bench = opened()
    assert (await object_to(bench, url=PAGE)).status_code == 202
    (flag,) = bench.jobs.of(FlagRaised)
    gone = AssertionInvalidated(assertion_id=UUID(int=1), analysis_id=UUID(int=1), why="RIGHTS")
    bench.jobs.add(gone, cause=flag.event_id())
    assert await listed_ids(bench) == [flag.flag_id]
    bench.jobs.facts[:] = [fact for fact in bench.jobs.facts if fact.event != flag]
    bench.clock.pass_by(60)
    assert await listed_ids(bench) == []


async def listed_ids(bench: Bench) -> list[UUID]:
    answer = await send(bench, "GET", LIST, key="")
    return [each.withdrawal_id for each in AppliedWithdrawals.model_validate_json(answer.content).withdrawals]


async def test_without_the_job_api_there_is_no_such_route() -> None:
    assert (await send(Bench(), "POST", PATH, SAID | {"url": PAGE}, key="")).status_code == 404
