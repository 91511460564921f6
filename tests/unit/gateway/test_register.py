"""`post.registerObservedVersion`: what becomes an event, when the answer is given, what is answered from memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contracts.rpc.values import URL_CHARACTERS
from contracts.v1 import Event, ObservationReceived, ObservationUnverifiable, VersionSeen
from contracts.v1.pages import Observation, Sighting
from contracts.v1.parts import PostRef
from kit.addresses import ip_range_prefix
from services.gateway.domain import derive_ip_range_key
from tests.unit.gateway.fakes import (
    ADDRESS,
    Bench,
    data,
    error,
    post_on_lesswrong,
    post_on_substack,
    post_on_wikipedia,
    post_on_x,
)

REGISTER = "post.registerObservedVersion"


@pytest.mark.requirement("3.3-01", "2.8-02", "2.6-05")
@pytest.mark.parametrize("post", [post_on_x, post_on_lesswrong, post_on_substack, post_on_wikipedia])
async def test_an_observation_is_named(post: Any) -> None:
    """3.3-01: The answer to a registration has its exact shape.
    2.8-02: The server computes the version.
    2.6-05: Unverified text goes on as CLIENT_FALLBACK.
    """
    bench = Bench()
    answer = data(REGISTER, await bench.mutate(REGISTER, post()))
    assert answer["platform"] == post()["platform"]
    assert answer["externalId"] == post().get("externalId", "en:736")
    assert answer["provenance"] == "CLIENT_FALLBACK"
    assert bench.log.waited_for == [101]


@pytest.mark.requirement("FH-168")
async def test_a_registration_asks_nothing_of_what_audits_are_kept_in() -> None:
    """FH-168: Audits cost the first system nothing."""
    seen = []
    for jobs in (False, True):
        bench = Bench(jobs=jobs)
        bench.jobs.broken = bench.words.broken = True
        answer = data(REGISTER, await bench.mutate(REGISTER, post_on_x()))
        seen.append((answer, bench.log.requests, bench.log.told, bench.log.waited_for, bench.reads.asked))
    assert seen[0] == seen[1]


async def test_the_event_holds_what_was_seen() -> None:
    bench = Bench()
    image = {"originalIndex": 0, "normalizedTextOffset": 5, "sourceUrl": "https://e.org/1.png", "captionText": "A"}
    body = post_on_x(
        observedContentText="  Alpha\u00a0 beta ",
        observedImageUrls=["https://e.org/1.png"],
        observedImageOccurrences=[image],
    )
    body["metadata"] |= {"likeCount": 3, "authorDisplayName": None, "postedAt": "2026-01-02T03:04:05Z"}
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    seen = bench.log.asked[0].observation
    assert seen.post == PostRef(platform="X", external_id="1234567890")
    assert seen.text is not None
    assert seen.text.inline == "Alpha beta"
    assert seen.html is None
    assert seen.image_urls == ("https://e.org/1.png",)
    assert seen.occurrences[0].caption_text == "A"
    assert seen.metadata == {
        "author_handle": "someone",
        "text": "Alpha beta",
        "media_urls": [],
        "like_count": 3,
        "posted_at": "2026-01-02T03:04:05.000Z",
    }


@pytest.mark.parametrize(
    "url", ["ht\ntps://x.com/someone/status/1234567890", " HTTPS://X.COM:443/someone/status/./1234567890#m "]
)
async def test_an_address_is_kept_in_one_spelling(url: str) -> None:
    bench = Bench()
    assert (await bench.mutate(REGISTER, post_on_x(url=url))).status_code == 200
    assert bench.log.asked[0].observation.url == "https://x.com/someone/status/1234567890"


@pytest.mark.parametrize(
    ("post", "fact"),
    [
        (post_on_x, ObservationUnverifiable),
        (post_on_lesswrong, ObservationReceived),
        (post_on_substack, ObservationReceived),
        (post_on_wikipedia, ObservationReceived),
    ],
)
async def test_only_what_a_site_can_confirm_is_sent_to_the_verifier(post: Any, fact: type[Event]) -> None:
    bench = Bench()
    assert (await bench.mutate(REGISTER, post())).status_code == 200
    assert [type(event) for event in bench.log.asked] == [fact]


async def test_html_travels_by_reference() -> None:
    bench = Bench()
    assert (await bench.mutate(REGISTER, post_on_lesswrong())).status_code == 200
    seen = bench.log.asked[0].observation
    assert seen.html is not None
    assert seen.html.inline == "<p>Alpha beta</p>"
    assert seen.text is None
    assert "html_content" not in seen.metadata


async def test_the_sites_identity_is_what_is_answered() -> None:
    bench = Bench()

    def corrected(observation: Observation) -> VersionSeen:
        return VersionSeen(
            version_id=observation.observation_id,
            post_id=observation.observation_id,
            post=PostRef(platform="WIKIPEDIA", external_id="en:999"),
            version_hash="a" * 64,
            provenance="SERVER_VERIFIED",
            sighting=Sighting(observation_id=observation.observation_id, url=observation.url),
        )

    bench.log.answer = corrected
    answer = data(REGISTER, await bench.mutate(REGISTER, post_on_wikipedia()))
    assert answer["externalId"] == "en:999"
    assert answer["provenance"] == "SERVER_VERIFIED"


@pytest.mark.parametrize("text", [" ", "\u200b", "\ufeff\u00a0\n"])
async def test_blank_text_is_refused(text: str) -> None:
    bench = Bench()
    assert error(await bench.mutate(REGISTER, post_on_x(observedContentText=text)))["code"] == "BAD_REQUEST"
    assert bench.log.asked == []


@pytest.mark.parametrize(
    "images",
    [
        [(1, 0)],
        [(0, 0), (0, 0)],
        [(0, 0), (2, 0)],
        [(0, 5), (1, 4)],
        [(0, 11)],
    ],
    ids=str,
)
async def test_pictures_that_contradict_each_other_are_refused(images: list[tuple[int, int]]) -> None:
    occurrences = [
        {"originalIndex": index, "normalizedTextOffset": offset, "sourceUrl": "https://e.org/1"}
        for index, offset in images
    ]
    response = await Bench().mutate(REGISTER, post_on_x(observedImageOccurrences=occurrences))
    assert error(response)["code"] == "BAD_REQUEST"


@pytest.mark.requirement("2.6-03")
async def test_pictures_of_one_browser_alone_and_those_of_endless_addresses_are_left_out() -> None:
    """2.6-03: Observed text is sent for X, Substack and Wikipedia only."""
    long = "https://e.org/".ljust(URL_CHARACTERS, "1")
    urls = [
        "blob:https://x.com/1", "https://e.org/1", "javascript:0", "chrome-extension://abc/i.png", " https://e.org/2 ",
        "data:image/png;base64,AA==", f"{long}1", long,
    ]  # fmt: skip
    body = post_on_x(
        observedImageUrls=urls,
        observedImageOccurrences=[
            {"originalIndex": index, "normalizedTextOffset": index, "sourceUrl": url} for index, url in enumerate(urls)
        ],
    )
    body["metadata"] |= {"mediaUrls": urls}
    bench = Bench()
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    seen = bench.log.asked[0].observation
    assert seen.image_urls == ("https://e.org/1", "https://e.org/2", long)
    assert seen.metadata["media_urls"] == ["https://e.org/1", "https://e.org/2", long]
    assert [(each.original_index, each.normalized_text_offset, each.source_url) for each in seen.occurrences] == [
        (0, 1, "https://e.org/1"),
        (1, 4, "https://e.org/2"),
        (2, 7, long),
    ]


@pytest.mark.requirement("2.6-04")
async def test_offsets_into_a_text_that_only_the_site_knows_are_not_judged() -> None:
    """2.6-04: Where a verified text differs, the site's counts."""
    occurrences = [{"originalIndex": 0, "normalizedTextOffset": 99_999, "sourceUrl": "https://e.org/1"}]
    response = await Bench().mutate(REGISTER, post_on_lesswrong(observedImageOccurrences=occurrences))
    assert response.status_code == 200


async def test_offsets_count_utf16_units() -> None:
    text = "\U0001f600\U0001f600"
    occurrences = [{"originalIndex": 0, "normalizedTextOffset": 4, "sourceUrl": "https://e.org/1"}]
    body = post_on_x(observedContentText=text, observedImageOccurrences=occurrences)
    assert (await Bench().mutate(REGISTER, body)).status_code == 200


@pytest.mark.parametrize(
    "url", ["https://evil.example/someone/status/1234567890", "https://x.com.evil.example/a/status/1"]
)
async def test_a_url_of_another_site_is_refused(url: str) -> None:
    bench = Bench()
    assert error(await bench.mutate(REGISTER, post_on_x(url=url)))["code"] == "BAD_REQUEST"
    assert bench.log.asked == []


async def test_a_service_may_refuse_for_good() -> None:
    bench = Bench()
    bench.log.refusal = "the page has no text"
    response = await bench.mutate(REGISTER, post_on_lesswrong())
    assert error(response)["code"] == "BAD_REQUEST"
    assert response.json()["error"]["message"] == "the page has no text"


async def test_a_refusal_is_remembered_for_a_moment() -> None:
    bench = Bench()
    bench.log.refusal = "LESSWRONG does not show this page to the public"
    for _ in range(3):
        assert error(await bench.mutate(REGISTER, post_on_lesswrong()))["code"] == "BAD_REQUEST"
    assert bench.log.requests == 1, "an extension that tries again stores nothing more"
    bench.log.refusal = None
    bench.clock.pass_by(60.0)
    assert (await bench.mutate(REGISTER, post_on_lesswrong())).status_code == 200


async def test_an_observation_names_the_network_as_a_view_does() -> None:
    bench = Bench()
    assert (await bench.mutate(REGISTER, post_on_x())).status_code == 200
    (event,) = bench.log.asked
    assert event.observation.network_key == derive_ip_range_key(ip_range_prefix(ADDRESS))


@pytest.mark.parametrize("trouble", ["outage", "behind"])
async def test_nothing_is_promised_that_the_next_request_would_not_find(trouble: str) -> None:
    bench = Bench()
    setattr(bench.log, trouble, True)
    assert (await bench.mutate(REGISTER, post_on_x())).status_code == 503
    setattr(bench.log, trouble, False)
    assert (await bench.mutate(REGISTER, post_on_x())).status_code == 200


async def test_the_same_observation_is_answered_from_memory_for_a_while() -> None:
    bench = Bench(remember_observations_s=60)
    first = data(REGISTER, await bench.mutate(REGISTER, post_on_x()))
    bench.clock.pass_by(59)
    assert data(REGISTER, await bench.mutate(REGISTER, post_on_x())) == first
    assert len(bench.log.asked) == 1
    bench.clock.pass_by(1)
    assert data(REGISTER, await bench.mutate(REGISTER, post_on_x())) == first
    assert len(bench.log.asked) == 2


@pytest.mark.requirement("2.13-04")
async def test_another_text_is_another_version() -> None:
    """2.13-04: A made-up text is another version."""
    bench = Bench()
    first = data(REGISTER, await bench.mutate(REGISTER, post_on_x()))
    second = data(REGISTER, await bench.mutate(REGISTER, post_on_x(observedContentText="Alpha gamma")))
    assert first["postVersionId"] != second["postVersionId"]
    assert len(bench.log.asked) == 2


async def test_simultaneous_readers_of_one_page_are_one_observation() -> None:
    bench = Bench()
    bench.log.gate = asyncio.Event()
    requests = [asyncio.create_task(bench.mutate(REGISTER, post_on_x())) for _ in range(20)]
    await asyncio.sleep(0)
    requests[0].cancel()
    bench.log.gate.set()
    answers = [data(REGISTER, await request) for request in requests[1:]]
    assert len(bench.log.asked) == 1
    assert all(answer == answers[0] for answer in answers)


async def test_memory_is_bounded() -> None:
    bench = Bench(remember_observations=2)
    for text in ("a", "b", "c", "a"):
        await bench.mutate(REGISTER, post_on_x(observedContentText=text))
    assert len(bench.log.asked) == 4


@pytest.mark.parametrize(
    ("post", "names"),
    [(post_on_lesswrong, {"title"}), (post_on_substack, {"title", "subtitle"})],
)
async def test_a_long_title_is_cut(post: Any, names: set[str]) -> None:
    """The extension takes a heading of the page, whatever its length; the reader is not refused for it."""
    bench = Bench()
    body = post()
    body["metadata"] |= dict.fromkeys(names, "Aé" * 600)
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    metadata = bench.log.asked[0].observation.metadata
    assert {name: metadata[name] for name in names} == dict.fromkeys(names, "Aé" * 500)


@pytest.mark.parametrize(
    ("post", "name"),
    [(post_on_x, "authorDisplayName"), (post_on_lesswrong, "authorName"), (post_on_substack, "authorName")],
)
async def test_a_long_name_is_cut(post: Any, name: str) -> None:
    """The page chose it, too; the ids of people and posts are refused, since two of one beginning would be one."""
    bench = Bench()
    body = post()
    body["metadata"][name] = "Aé" * 600
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    assert "Aé" * 150 in bench.log.asked[0].observation.metadata.values()


async def test_of_a_title_with_markup_nothing_is_kept_that_had_to_be_cut() -> None:
    bench = Bench()
    body = post_on_wikipedia()
    body["metadata"]["displayTitle"] = "<select>" + "<option>x" * 111
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    assert "display_title" not in bench.log.asked[0].observation.metadata
    body["metadata"]["title"] = "A" * 1_001
    assert error(await bench.mutate(REGISTER, body))["code"] == "BAD_REQUEST"


async def test_a_url_has_an_end() -> None:
    bench = Bench()
    base = "https://x.com/someone/status/1234567890?q="
    fits = base + "a" * (2_048 - len(base))
    assert (await bench.mutate(REGISTER, post_on_x(url=f"{fits}#{'b' * 9_000}"))).status_code == 200
    assert bench.log.asked[0].observation.url == fits
    refusal = await bench.mutate(REGISTER, post_on_x(url=f"{fits}a"))
    assert error(refusal)["code"] == "BAD_REQUEST"
    assert "longer than 2048 characters" in refusal.text
