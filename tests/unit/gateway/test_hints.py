"""What becomes of a private reader's hint."""

from __future__ import annotations

import pytest

from contracts.v1 import PostHinted
from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from kit.addresses import ip_range_prefix
from services.gateway.domain import derive_ip_range_key
from services.gateway.extension.hints import AT_ONCE, EVERY_S
from services.gateway.ports import Unavailable
from tests.unit.gateway.fakes import ADDRESS, Bench, data, error

HINT = "post.hint"
POST = PostRef(platform="WIKIPEDIA", external_id="en:736")
SAID = {"platform": POST.platform, "externalId": POST.external_id}


def bench(*known: PostRef) -> Bench:
    made = Bench()
    del made.http.headers["x-openerrata-extension-version"]
    made.reads.posts = {post_id(post) for post in known}
    return made


async def test_a_hint_is_an_event_with_a_post_and_nothing_of_its_reader_but_the_hash_of_a_range() -> None:
    made = bench(POST)
    assert data(HINT, await made.mutate(HINT, SAID, x_api_key="secret")) is None
    (event,) = made.log.told
    assert isinstance(event, PostHinted)
    assert event.post_id == post_id(POST)
    assert event.ip_range_key == derive_ip_range_key(ip_range_prefix(ADDRESS))
    assert set(PostHinted.model_fields) == {"hint_id", "post_id", "ip_range_key"}
    assert ADDRESS not in event.model_dump_json()


async def test_what_is_not_known_is_answered_the_same_and_is_no_event() -> None:
    made = bench()
    unknown, known = await made.mutate(HINT, SAID), await bench(POST).mutate(HINT, SAID)
    assert (unknown.status_code, unknown.content) == (known.status_code, known.content)
    assert made.log.told == []


async def test_a_post_of_a_site_without_a_public_source_is_refused() -> None:
    x = PostRef(platform="X", external_id="1")
    made = bench(x)
    answer = await made.mutate(HINT, {"platform": "X", "externalId": "1"})
    assert error(answer)["code"] == "BAD_REQUEST"
    assert "no public source" in answer.json()["error"]["message"]
    assert made.log.told == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        {},
        {"platform": "WIKIPEDIA"},
        SAID | {"platform": "ELSEWHERE"},
        SAID | {"externalId": ""},
        SAID | {"externalId": "x" * 301},
        SAID | {"externalId": 736},
        SAID | {"externalId": "en:\0"},
        SAID | {"url": "https://en.wikipedia.org/wiki/Brain"},
        [SAID, SAID],
    ],
)
async def test_a_hint_has_a_site_and_an_id_and_nothing_else(body: object) -> None:
    made = bench(POST)
    assert error(await made.mutate(HINT, body))["code"] == "BAD_REQUEST"
    assert (made.log.told, made.reads.asked) == ([], 0)


async def test_a_network_gives_few_hints_at_once() -> None:
    made = bench(POST)
    for _ in range(AT_ONCE):
        data(HINT, await made.mutate(HINT, SAID))
    assert error(await made.mutate(HINT, SAID))["code"] == "TOO_MANY_REQUESTS"
    made.clock.pass_by(EVERY_S)
    data(HINT, await made.mutate(HINT, SAID))
    assert len(made.log.told) == AT_ONCE + 1


@pytest.mark.parametrize(
    ("site", "status"), [("none", 200), ("same-origin", 200), ("same-site", 415), ("cross-site", 415), ("", 415)]
)
async def test_plain_text_is_taken_of_an_extension_and_of_no_page(site: str, status: int) -> None:
    made = bench(POST)
    answer = await made.mutate(HINT, SAID, content_type="text/plain;charset=UTF-8", sec_fetch_site=site, origin="null")
    assert (answer.status_code, len(made.log.told)) == (status, int(status == 200))
    view = await made.mutate("post.recordViewAndGetStatus", {}, content_type="text/plain", sec_fetch_site=site)
    assert view.status_code == 415, "nothing else is taken as plain text"


async def test_it_is_posted_as_json_and_an_outage_is_said() -> None:
    made = bench(POST)
    assert error(await made.query(HINT, SAID))["code"] == "METHOD_NOT_SUPPORTED"
    assert error(await made.mutate(HINT, SAID, content_type="text/plain"))["code"] == "UNSUPPORTED_MEDIA_TYPE"
    made.reads.error = Unavailable("database")
    assert error(await made.mutate(HINT, SAID))["code"] == "SERVICE_UNAVAILABLE"
    assert made.log.told == []
