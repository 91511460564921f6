"""Private look-ups as the gateway serves them: from the store alone."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import pytest
from structlog.testing import capture_logs

from contracts.lookup.documents import Bucket, Layout, Retractions, encode
from contracts.lookup.framing import frame, unframe
from contracts.lookup.names import LAYOUT, bucket_object, day_object
from services.gateway.public.lookups import FRESH_S
from services.notary.settings import NotarySettings
from tests.unit.gateway.fakes import Bench

ROOT: Final = Path(__file__).parents[3]
BUCKET = frame(encode(Bucket(checkpoint="a note\n")))
BUCKET_URL = "/lookup/v1/b6/a8"


@pytest.fixture
def bench() -> Bench:
    found = Bench()
    first = found.clock.now().date() - timedelta(days=3)
    layout = Layout(layout="b6", bits=6, paused=False, first_day=first)
    found.lookups.objects = {LAYOUT: encode(layout), bucket_object(0b101010, 6): BUCKET}
    return found


async def test_a_bucket_is_served_as_it_is_stored(bench: Bench) -> None:
    answer = await bench.http.get(BUCKET_URL)
    assert (answer.status_code, answer.content) == (200, BUCKET)
    assert {name: answer.headers.get(name) for name in ("content-type", "cache-control", "vary", "set-cookie")} == {
        "content-type": "application/octet-stream",
        "cache-control": "public, max-age=60, s-maxage=30",
        "vary": None,
        "set-cookie": None,
    }
    assert answer.headers["access-control-allow-origin"] == "*"
    assert (await bench.http.get("/lookup/v1/layout.json")).headers[
        "cache-control"
    ] == "public, max-age=60, s-maxage=30"
    head = await bench.http.head(BUCKET_URL)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(BUCKET)))


@pytest.mark.requirement("TR-26")
async def test_who_has_a_bucket_is_sent_it_only_when_it_changes(bench: Bench) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes."""
    tag = (await bench.http.get(BUCKET_URL)).headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        answer = await bench.http.get(BUCKET_URL, headers={"if-none-match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    bench.lookups.objects[bucket_object(0b101010, 6)] = changed = frame(b"{}")
    bench.clock.pass_by(FRESH_S)
    answer = await bench.http.get(BUCKET_URL, headers={"if-none-match": tag})
    assert (answer.status_code, answer.content) == (200, changed)


@pytest.mark.requirement("TR-26")
@pytest.mark.parametrize("path", ["layout.json", "b6/a8", "retractions/{today}", "retractions/{yesterday}"])
async def test_what_is_taken_back_is_gone_in_two_minutes_behind_caches(bench: Bench, path: str) -> None:
    """What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes.

    At worst everything between notary and reader took a copy just before: the gateway, a shared cache, the extension,
    which keeps its copy for `max-age` whatever the age was. The rest is for the notary.
    """
    today = bench.clock.now().date()
    bench.lookups.objects |= {day_object(today - timedelta(days=days)): frame(b"{}") for days in (0, 1)}
    url = f"/lookup/v1/{path.format(today=today, yesterday=today - timedelta(days=1))}"
    caching = (await bench.http.get(url)).headers["cache-control"]
    lifetimes = {name: int(seconds) for name, seconds in re.findall(r"(s-maxage|max-age)=(\d+)", caching)}
    shared = lifetimes.get("s-maxage", lifetimes["max-age"])
    notary = NotarySettings().publish_s
    assert FRESH_S + shared + lifetimes["max-age"] <= 120 - notary


def test_the_extension_keeps_a_copy_for_as_long_as_it_may() -> None:
    source = (ROOT / "extension/src/background/lookup_files.ts").read_text()
    assert re.findall(r"FRESH_MS = ([\d_]+)", source) == ["60_000"]


@pytest.mark.parametrize(
    "path",
    [
        "b6/a9",
        "b6/A8",
        "b6/a",
        "b6/a80",
        "b6/all",
        "b6",
        "b6/",
        "b17/0000",
        "b06/a8",
        "b5/a8",
        "b6/a8/",
        "../layout.json",
    ],
)
async def test_what_is_no_bucket_is_not_found(bench: Bench, path: str) -> None:
    answer = await bench.http.get(f"/lookup/v1/{path}")
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


async def test_the_store_is_asked_once_in_a_while_also_for_what_is_not_there(bench: Bench) -> None:
    for _ in range(10):
        assert (await bench.http.get(BUCKET_URL)).status_code == 200
        assert (await bench.http.get("/lookup/v1/b0/all")).status_code == 404
    assert bench.lookups.asked == 2
    bench.clock.pass_by(FRESH_S)
    await bench.http.get(BUCKET_URL)
    assert bench.lookups.asked == 3


async def test_a_day_without_retractions_is_a_body(bench: Bench) -> None:
    today = bench.clock.now().date()
    stored = frame(encode(Retractions(day=today - timedelta(days=1))))
    bench.lookups.objects[day_object(today - timedelta(days=1))] = stored

    async def get(day: date | str) -> tuple[int, str, bytes]:
        answer = await bench.http.get(f"/lookup/v1/retractions/{day}")
        return answer.status_code, answer.headers["cache-control"], answer.content

    status, caching, body = await get(today)
    assert (status, caching) == (200, "public, max-age=60, s-maxage=30")
    assert Retractions.model_validate_json(unframe(body)) == Retractions(day=today)
    assert await get(today - timedelta(days=1)) == (200, "public, max-age=60, s-maxage=30", stored)
    assert (await get(today - timedelta(days=3)))[0] == 200
    for day in (today - timedelta(days=4), today + timedelta(days=1), today.strftime("%Y%m%d"), "yesterday", ""):
        assert (await get(day))[0] == 404


async def test_without_look_ups_there_is_nothing(bench: Bench) -> None:
    bench.lookups.objects.clear()
    for path in ("layout.json", "b6/a8", f"retractions/{bench.clock.now().date()}"):
        assert (await bench.http.get(f"/lookup/v1/{path}")).status_code == 404


async def test_a_store_that_does_not_answer_is_tried_again_later(bench: Bench) -> None:
    bench.lookups.failing = True
    with capture_logs() as logs:
        answer = await bench.http.get(BUCKET_URL)
    (line,) = (each for each in logs if each["event"] == "unavailable")
    assert (line["path"], BUCKET_URL in str(logs)) == ("/lookup/v1/", False), "no log says which bucket was wanted"
    assert (answer.status_code, answer.headers["retry-after"], answer.headers["cache-control"]) == (
        503,
        "3",
        "no-store",
    )
    bench.lookups.failing = False
    assert (await bench.http.get(BUCKET_URL)).status_code == 200


async def test_nothing_is_sent_in(bench: Bench) -> None:
    answer = await bench.http.post(BUCKET_URL, content=b"x")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
