"""Keys: how long a revoked one works, how often an unknown one is looked up, what a reader is told about their own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from contracts.accounts import Right
from services.gateway.domain import Account, Principal, key_hash
from services.gateway.keys import InstanceKeys
from services.gateway.ports import KeyVerdict
from tests.unit.gateway.fakes import USER_KEY, Bench, data

SETTINGS = "post.validateSettings"
ALICE = Account(UUID(int=7), "reader", "free", None, has_webhook_secret=False)


async def accepted(bench: Bench, key: str = "instance-key") -> bool:
    answer = data(SETTINGS, await bench.query(SETTINGS, x_api_key=key))
    assert isinstance(answer["instanceApiKeyAccepted"], bool)
    return answer["instanceApiKeyAccepted"]


@pytest.mark.requirement("3.3-07")
async def test_no_keys_is_an_answer_too() -> None:
    """3.3-07: Settings are checked with each of their outcomes."""
    assert data(SETTINGS, await Bench().query(SETTINGS)) == {
        "instanceApiKeyAccepted": False,
        "openaiApiKeyStatus": "missing",
    }


async def test_an_input_that_nobody_asked_for_is_ignored() -> None:
    bench = Bench()
    assert (await bench.http.get(f"/trpc/{SETTINGS}?input=%7Bnonsense")).status_code == 200


@pytest.mark.requirement("3.3-07")
@pytest.mark.parametrize("key", ["sk-short", "pk-abcdefghijklmnopqrstuvwx", USER_KEY + "!", "sk-" + "ä" * 20])
async def test_a_malformed_key_is_not_tried(key: str) -> None:
    """3.3-07: Settings are checked with each of their outcomes."""
    bench = Bench()
    response = await bench.http.get(f"/trpc/{SETTINGS}", headers={b"x-openai-api-key": key.encode()})
    assert data(SETTINGS, response)["openaiApiKeyStatus"] == "format_invalid"
    assert bench.probe.probed == []


@pytest.mark.requirement("3.3-07")
@pytest.mark.parametrize("status", ["valid", "authenticated_restricted", "invalid", "error"])
async def test_what_the_provider_says_is_passed_on(status: str) -> None:
    """3.3-07: Settings are checked with each of their outcomes."""
    bench = Bench()
    bench.probe.verdict = KeyVerdict(status, "" if status == "valid" else "Because.")  # type: ignore[arg-type]  # a parameter is any text
    answer = data(SETTINGS, await bench.query(SETTINGS, x_openai_api_key=f"  {USER_KEY} "))
    assert answer["openaiApiKeyStatus"] == status
    assert bench.probe.probed == [USER_KEY]


async def test_a_refusal_without_a_message_gets_one() -> None:
    bench = Bench()
    bench.probe.verdict = KeyVerdict("invalid")
    assert data(SETTINGS, await bench.query(SETTINGS, x_openai_api_key=USER_KEY))["openaiApiKeyMessage"]


@pytest.mark.requirement("2.13-10")
async def test_nobody_tests_stolen_keys_here() -> None:
    """2.13-10: Plaintext keys never in logs."""
    bench = Bench(key_checks_burst=3, key_checks_every_s=10, trusted_proxies=1)
    statuses = [
        data(SETTINGS, await bench.query(SETTINGS, x_openai_api_key=USER_KEY))["openaiApiKeyStatus"] for _ in range(5)
    ]
    assert statuses == ["valid", "valid", "valid", "error", "error"]
    assert len(bench.probe.probed) == 3
    elsewhere = await bench.query(SETTINGS, x_openai_api_key=USER_KEY, x_forwarded_for="198.51.100.1")
    assert data(SETTINGS, elsewhere)["openaiApiKeyStatus"] == "valid", "the limit is one network's, not everybody's"
    bench.clock.pass_by(10)
    assert data(SETTINGS, await bench.query(SETTINGS, x_openai_api_key=USER_KEY))["openaiApiKeyStatus"] == "valid"


async def test_a_key_works_as_soon_as_it_is_added() -> None:
    bench = Bench()
    assert not await accepted(bench, "another")
    bench.key_table.add("instance-key")
    looked_up = bench.key_table.look_ups
    assert [await accepted(bench) for _ in range(3)] == [True] * 3
    assert bench.key_table.look_ups == looked_up + 1, "it is known from then on"


async def test_a_key_that_was_just_refused_is_not_looked_up_again_at_once() -> None:
    bench = Bench(instance_keys_denied_s=1)
    for _ in range(5):
        assert not await accepted(bench)
    assert bench.key_table.look_ups == 1
    bench.key_table.add("instance-key")
    bench.clock.pass_by(1)
    assert await accepted(bench)


async def test_a_revoked_key_stops_within_seconds() -> None:
    bench = Bench(instance_keys_fresh_s=3)
    bench.key_table.add("instance-key")
    assert await accepted(bench)
    bench.key_table.hashes.clear()
    bench.clock.pass_by(3)
    assert not await accepted(bench)


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0])
async def test_a_revoked_key_stops_whatever_the_time_of_day_does(jump_s: float) -> None:
    bench = Bench(instance_keys_fresh_s=3)
    bench.key_table.add("instance-key")
    bench.clock.jump(jump_s)
    assert await accepted(bench)
    bench.clock.jump(-jump_s)
    bench.key_table.hashes.clear()
    bench.clock.pass_by(3)
    assert not await accepted(bench)


async def test_active_keys_cost_no_queries() -> None:
    bench = Bench()
    bench.key_table.add("instance-key")
    assert all(await asyncio.gather(*(accepted(bench) for _ in range(20))))
    assert (bench.key_table.reads, bench.key_table.look_ups) == (1, 0)


@pytest.mark.requirement("FH-115")
@pytest.mark.parametrize(("right", "accepts"), [("investigate", True), ("corroborate", False), ("audit", False)])
async def test_an_instance_key_is_for_what_it_was_given_for(right: Right, accepts: bool) -> None:
    """FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.
    """
    bench = Bench()
    bench.key_table.add("instance-key", right)
    assert await accepted(bench) is accepts


@pytest.mark.requirement("FH-115", "FH-30")
async def test_a_key_opens_its_account_and_no_other_key_opens_one() -> None:
    """FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.
    FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.

    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    bench = Bench()
    bench.key_table.add("of-alice", "audit", account=ALICE)
    bench.key_table.add("of-no-account")
    keys = InstanceKeys(bench.key_table, bench.clock, fresh_s=3, denied_s=1)
    assert await keys.principal(key_hash("of-alice")) == Principal(ALICE, frozenset({"audit"}))
    assert await keys.principal(key_hash("of-no-account")) is None
    assert await keys.principal(key_hash("of-another")) is None


async def test_a_role_that_is_taken_away_is_gone_within_seconds() -> None:
    bench = Bench()
    bench.key_table.add("of-alice", "audit", account=replace(ALICE, role="admin"))
    keys = InstanceKeys(bench.key_table, bench.clock, fresh_s=3, denied_s=1)
    before = await keys.principal(key_hash("of-alice"))
    bench.key_table.add("of-alice", "audit", account=ALICE)
    bench.clock.pass_by(3)
    after = await keys.principal(key_hash("of-alice"))
    assert before is not None
    assert after is not None
    assert (before.may("configure"), after.may("configure"), after.may("flag")) == (True, False, True)
