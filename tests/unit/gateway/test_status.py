"""What readers are shown, in exactly the keys of its state, and what a view leaves behind."""

from __future__ import annotations

import gc
import json
import tracemalloc
from dataclasses import replace
from datetime import timedelta, timezone
from hashlib import sha256

import pytest

from contracts.accounts import Right
from contracts.rpc.status import BatchAnswer
from contracts.v1 import PostViewed
from contracts.v1.ids import investigation_id
from services.gateway.domain import Failure
from services.gateway.ports import Complete, FailedRun, Prior, Running, VersionView
from tests.unit.gateway.fakes import (
    ADDRESS,
    INVESTIGATION,
    NOW,
    POST,
    VERSION,
    Bench,
    claim,
    data,
    payload,
)

VIEW = "post.recordViewAndGetStatus"
LOOK = "post.getInvestigation"
BATCH = "post.batchStatus"
COMPLETE = Complete(INVESTIGATION, "SERVER_VERIFIED", (claim(1), claim(2)), NOW)
PRIOR = Prior(INVESTIGATION, (claim(3),))


def bench_with(view: VersionView) -> Bench:
    bench = Bench()
    bench.reads.views[VERSION] = view
    return bench


@pytest.mark.requirement("2.6-06")
@pytest.mark.parametrize(
    "version", ["x", "00000000-0000-4000-8000-000000000999", "{" + str(VERSION) + "}", VERSION.hex]
)
async def test_an_unknown_version_leaves_nothing_behind(version: str) -> None:
    """2.6-06: A view of an unknown version is NOT_INVESTIGATED."""
    bench = bench_with(VersionView(POST, COMPLETE, None))
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": version}))
    assert answer == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}
    assert bench.log.told == []


@pytest.mark.requirement("2.6-07")
async def test_a_finished_version_shows_its_claims_in_order() -> None:
    """2.6-07: A view of a finished version returns its claims."""
    bench = bench_with(VersionView(POST, COMPLETE, None))
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert answer["investigationState"] == "INVESTIGATED"
    assert [shown["id"] for shown in answer["claims"]] == [str(claim(1).claim_id), str(claim(2).claim_id)]


@pytest.mark.requirement("2.6-08", "2.8-03", "2.8-04")
async def test_a_new_version_shows_what_was_found_before() -> None:
    """2.6-08: A view of a new version returns the verified earlier result meanwhile.
    2.8-03: The result of another version is never shown as final.
    2.8-04: Showing an earlier result starts no run.
    """
    bench = bench_with(VersionView(POST, None, PRIOR))
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert answer["investigationState"] == "NOT_INVESTIGATED"
    assert answer["priorInvestigationResult"]["sourceInvestigationId"] == str(INVESTIGATION)
    assert len(answer["priorInvestigationResult"]["oldClaims"]) == 1


@pytest.mark.requirement("2.8-08", "2.6-09")
async def test_a_miss_has_no_claims_key() -> None:
    """2.8-08: A miss has no key for claims.
    2.6-09: An earlier result that only readers vouch for is not returned.
    """
    bench = bench_with(VersionView(POST, None, None))
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert answer == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}


async def test_a_prior_without_findings_is_still_a_prior() -> None:
    bench = bench_with(VersionView(POST, None, Prior(INVESTIGATION, ())))
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert answer["priorInvestigationResult"]["oldClaims"] == []


async def test_nothing_of_a_requests_headers_is_kept() -> None:
    """The server takes 400 KB of them, and many requests would fill the memory."""
    bench, long, requests = bench_with(VersionView(POST, None, None)), "x" * 100_000, 40

    async def send() -> None:
        for number in range(requests):
            body = {"postVersionId": str(VERSION)}
            await bench.mutate(VIEW, body, user_agent=f"{number}{long}")
            await bench.mutate(VIEW, body, x_openerrata_extension_version=f"{number}{long}")
            await bench.mutate(VIEW, body, x_openerrata_extension_version=f"{number}.{len(long) * '0'}1")

    tracemalloc.start()
    try:
        await send()
        gc.collect()  # of the client, whose requests refer to themselves
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < requests * len(long) / 2


@pytest.mark.requirement("2.2-05", "2.6-10")
async def test_a_view_is_recorded_without_address_or_key() -> None:
    """2.2-05: A view alone starts no investigation.
    2.6-10: A view never starts a run.
    """
    bench = bench_with(VersionView(POST, None, None))
    bench.key_table.add("instance-key")
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)})
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, x_api_key=" instance-key ")
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, x_api_key="wrong")
    anonymous, holder, stranger = bench.log.told
    assert isinstance(anonymous, PostViewed)
    assert isinstance(holder, PostViewed)
    assert isinstance(stranger, PostViewed)
    assert (anonymous.post_id, anonymous.version_id) == (POST, VERSION)
    assert anonymous.viewer_key == "19fc2a4b5f5eb9701410c77af6711b1bb3ba2e9fd78697d6837e60db1092e310"
    assert anonymous.ip_range_key == "909607461f2d0632647f2a9394fb3686a02945c6d859d3a0f4fd7d8663ffd40b"
    assert anonymous.reporter_key is None
    hashed = sha256(b"instance-key").hexdigest()
    assert holder.viewer_key == holder.reporter_key == sha256(f"apikey:{hashed}".encode()).hexdigest()
    assert stranger.viewer_key == anonymous.viewer_key
    assert len({anonymous.view_id, holder.view_id, stranger.view_id}) == 3
    assert ADDRESS not in anonymous.model_dump_json()


async def test_a_view_that_cannot_be_recorded_is_not_answered_as_if_it_were() -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None))
    bench.log.outage = True
    assert (await bench.mutate(VIEW, {"postVersionId": str(VERSION)})).status_code == 503


async def test_a_finished_version_is_read_once() -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None))
    answers = [await bench.mutate(VIEW, {"postVersionId": str(VERSION)}) for _ in range(5)]
    assert bench.reads.asked == 1
    assert len({answer.content for answer in answers}) == 1
    assert len(bench.log.told) == 5


async def test_a_newer_run_of_a_finished_version_is_displayed_within_a_minute() -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None))
    before = await bench.mutate(VIEW, {"postVersionId": str(VERSION)})
    bench.reads.views[VERSION] = VersionView(POST, replace(COMPLETE, claims=()), None)
    bench.clock.pass_by(60)
    after = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert len(data(VIEW, before)["claims"]) == 2
    assert after["claims"] == []


async def test_a_finished_investigation_is_read_once_until_what_is_shown_changes() -> None:
    bench = Bench()
    bench.reads.investigations[INVESTIGATION] = COMPLETE
    answers = [await bench.query(LOOK, {"investigationId": str(INVESTIGATION)}) for _ in range(5)]
    assert bench.reads.asked == 1
    assert {answer.headers["cache-control"] for answer in answers} == {"private, max-age=60"}
    assert len({answer.content for answer in answers}) == 1
    bench.reads.investigations[INVESTIGATION] = replace(COMPLETE, claims=(claim(2),))
    bench.app.invalidation.invalidate(7)
    after = data(LOOK, await bench.query(LOOK, {"investigationId": str(INVESTIGATION)}))
    assert [each["id"] for each in after["claims"]] == [str(claim(2).claim_id)]
    bench.reads.investigations[INVESTIGATION] = COMPLETE
    bench.clock.pass_by(60)
    later = data(LOOK, await bench.query(LOOK, {"investigationId": str(INVESTIGATION)}))
    assert len(later["claims"]) == 2


NEW = {"x_openerrata_extension_version": "1.0.0"}


@pytest.mark.parametrize("version", ["0.3.3", "0.9.9.9"])
async def test_an_extension_that_refuses_unknown_keys_gets_none(version: str) -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None, views=4, corroborations=2))
    new = (await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)).json()["result"]["data"]
    answer = await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, x_openerrata_extension_version=version)
    old = data(VIEW, answer)
    more = {"investigationId": str(INVESTIGATION), "viewCount": 4, "corroborationCount": 2}
    assert new == old | more
    assert not more.keys() & old.keys()


async def test_numbers_beside_a_result_are_a_minute_old_at_most() -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None, views=4))
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)
    bench.reads.views[VERSION] = VersionView(POST, COMPLETE, None, views=5)
    seen = [await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)]
    bench.clock.pass_by(61)
    seen.append(await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW))
    assert [answer.json()["result"]["data"]["viewCount"] for answer in seen] == [4, 5]
    assert bench.reads.asked == 2


async def test_a_new_version_says_how_many_saw_its_post() -> None:
    bench = bench_with(VersionView(POST, None, None, views=3))
    answer = await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)
    assert answer.json()["result"]["data"]["viewCount"] == 3


@pytest.mark.requirement("3.3-02")
async def test_a_viewer_who_can_follow_a_run_up_is_told_of_it() -> None:
    """3.3-02: A view may be answered with a run under way."""
    bench = bench_with(VersionView(POST, None, PRIOR, views=3))
    run = investigation_id(VERSION, "FACT_CHECK")
    bench.reads.investigations[run] = Running(run, "PROCESSING", "CLIENT_FALLBACK", (payload(1),), (payload(2),))
    new = (await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)).json()["result"]["data"]
    asked = (await bench.query(LOOK, {"investigationId": str(run)})).json()["result"]["data"]
    assert new == asked | {"investigationId": str(run), "viewCount": 3}
    old = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert old["investigationState"] == "NOT_INVESTIGATED"
    bench.reads.investigations[run] = FailedRun(run, "CLIENT_FALLBACK", Failure(NOW, 1, 9))
    failed = (await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, **NEW)).json()["result"]["data"]
    assert failed["investigationState"] == "NOT_INVESTIGATED"


async def test_an_unfinished_version_is_read_every_time() -> None:
    bench = bench_with(VersionView(POST, None, None))
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)})
    bench.reads.views[VERSION] = VersionView(POST, COMPLETE, None)
    answer = data(VIEW, await bench.mutate(VIEW, {"postVersionId": str(VERSION)}))
    assert answer["investigationState"] == "INVESTIGATED"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.1", ADDRESS),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (2, "6.6.6.6, 198.51.100.1, 10.0.0.1", "198.51.100.1"),
        (2, "198.51.100.1", ADDRESS),
        (1, "", ADDRESS),
        (1, "198.51.100.1:50001", "198.51.100.1"),
        (1, "6.6.6.6, [2001:db8::7]:50001", "2001:db8::7"),
        (1, "2001:db8::7", "2001:db8::7"),
    ],
)
async def test_only_our_own_proxies_may_name_the_reader(proxies: int, forwarded: str, address: str) -> None:
    bench = Bench(trusted_proxies=proxies)
    bench.reads.views[VERSION] = VersionView(POST, None, None)
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, x_forwarded_for=forwarded)
    (viewed,) = bench.log.told
    assert isinstance(viewed, PostViewed)
    assert viewed.viewer_key == sha256(f"anon:{address}:Mozilla/5.0".encode()).hexdigest()


@pytest.mark.requirement("3.3-04")
@pytest.mark.parametrize("investigation", ["nonsense", str(INVESTIGATION)])
async def test_an_unknown_investigation_is_no_error(investigation: str) -> None:
    """3.3-04: An unknown investigation is NOT_INVESTIGATED."""
    answer = data(LOOK, await Bench().query(LOOK, {"investigationId": investigation}))
    assert answer == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}


@pytest.mark.requirement("3.3-03")
async def test_the_states_of_an_investigation() -> None:
    """3.3-03: An investigation's four states have their shapes."""
    bench = Bench()
    question = {"investigationId": str(INVESTIGATION)}

    bench.reads.investigations[INVESTIGATION] = Running(INVESTIGATION, "PENDING", "CLIENT_FALLBACK", prior=PRIOR)
    pending = data(LOOK, await bench.query(LOOK, question))
    assert (pending["investigationState"], pending["status"]) == ("INVESTIGATING", "PENDING")
    assert pending["pendingClaims"] == pending["confirmedClaims"] == []

    bench.reads.investigations[INVESTIGATION] = Running(
        INVESTIGATION, "PROCESSING", "CLIENT_FALLBACK", (payload(1),), (payload(2), payload(3))
    )
    processing = data(LOOK, await bench.query(LOOK, question))
    assert (len(processing["pendingClaims"]), len(processing["confirmedClaims"])) == (1, 2)

    bench.reads.investigations[INVESTIGATION] = FailedRun(INVESTIGATION, "CLIENT_FALLBACK", Failure(NOW, 1, 9))
    failed = await bench.query(LOOK, question)
    assert data(LOOK, failed) == {"investigationState": "FAILED", "provenance": "CLIENT_FALLBACK"}
    assert failed.headers["cache-control"] == "no-store"

    bench.reads.investigations[INVESTIGATION] = COMPLETE
    complete = await bench.query(LOOK, question)
    assert data(LOOK, complete)["checkedAt"] == "2026-03-04T05:06:07.089Z"
    assert complete.headers["cache-control"].startswith("private, max-age=")


async def test_dates_are_utc_whatever_zone_they_came_in() -> None:
    bench = Bench()
    local = NOW.astimezone(timezone(timedelta(hours=5)))
    bench.reads.investigations[INVESTIGATION] = Complete(INVESTIGATION, "SERVER_VERIFIED", (), local)
    answer = data(LOOK, await bench.query(LOOK, {"investigationId": str(INVESTIGATION)}))
    assert answer["checkedAt"] == "2026-03-04T05:06:07.089Z"


@pytest.mark.requirement("3.3-05", "3.3-08")
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_batch_keeps_order_and_duplicates(method: str) -> None:
    """3.3-05: A request needs an instance key or a provider key.
    3.3-08: Statuses come in order, zero for a miss.
    """
    bench = Bench()
    bench.reads.counts = {("X", "1", "a" * 64): 3, ("X", "2", "b" * 64): 0}
    posts = [
        {"platform": "X", "externalId": "1", "versionHash": "A" * 64},
        {"platform": "X", "externalId": "9", "versionHash": "c" * 64},
        {"platform": "X", "externalId": "2", "versionHash": "b" * 64},
        {"platform": "X", "externalId": "1", "versionHash": "a" * 64},
    ]
    ask = bench.query if method == "GET" else bench.mutate
    statuses = data(BATCH, await ask(BATCH, {"posts": posts}))["statuses"]
    assert [(status["investigationState"], status["incorrectClaimCount"]) for status in statuses] == [
        ("INVESTIGATED", 3),
        ("NOT_INVESTIGATED", 0),
        ("INVESTIGATED", 0),
        ("INVESTIGATED", 3),
    ]


@pytest.mark.requirement("2.13-09")
async def test_a_full_batch_fits_into_a_url() -> None:
    """2.13-09: A batch of statuses has 1 to 100 posts."""
    posts = [{"platform": "LESSWRONG", "externalId": f"{n:017}", "versionHash": f"{n:064}"} for n in range(100)]
    answer = data(BATCH, await Bench().query(BATCH, {"posts": posts}))
    assert len(BatchAnswer.model_validate_json(json.dumps(answer)).statuses) == 100
    assert len(json.dumps(posts)) > 12_000


@pytest.mark.parametrize("right", ["corroborate", "investigate", "audit"])
async def test_only_a_key_that_may_corroborate_corroborates(right: Right) -> None:
    bench = bench_with(VersionView(POST, COMPLETE, None))
    bench.key_table.add("instance-key", right)
    await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, x_api_key="instance-key")
    (view,) = bench.log.told
    assert isinstance(view, PostViewed)
    assert (view.reporter_key is not None) == (right == "corroborate")
