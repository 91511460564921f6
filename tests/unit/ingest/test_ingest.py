"""From what a reader saw and what the site says to one version; nobody is refused because the two differ."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from contracts.v1 import (
    ErasureOrdered,
    Event,
    IntegrityAnomalyDetected,
    ObservationUnverifiable,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.ids import post_id, version_id
from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import Author, ImageOccurrence, PostRef
from contracts.v1.version import VersionEvent
from kit.errors import Reject
from platforms import get_platform
from platforms.base import REFUSALS
from platforms.identity import content_hash, occurrences_hash, version_hash
from services.ingest.domain import pin
from services.ingest.handlers import Ingest
from tests.support.factories import POST, TEXT, fetched, observation, page, text_ref, unavailable
from tests.support.fakes import Handled, MemoryLog, MemoryTexts, handled
from tests.support.loop import rounds_during

WIKIPEDIA = PostRef(platform="WIKIPEDIA", external_id="en:736")
X = PostRef(platform="X", external_id="1834567890123456789")


def seen(text: str | None = TEXT, post: PostRef = X, **given: Any) -> Observation:
    """An observation that carries its text instead of HTML."""
    return observation(post=post, html=None, text=None if text is None else text_ref(text), **given)


async def ingest(observed: Observation, served: CanonicalPage | None, log: MemoryLog | None = None) -> Handled:
    """One delivery."""
    service = Ingest(MemoryTexts(), log or MemoryLog())
    if served is None:
        return await handled(service.on_canonical_unavailable(unavailable(observed), 1), log)
    return await handled(service.on_canonical_fetched(fetched(observed, served), 1), log)


@pytest.mark.requirement("2.1-02")
async def test_where_nobody_can_be_asked_the_observation_itself_is_pinned() -> None:
    """2.1-02: X posts supported."""
    service = Ingest(MemoryTexts(), MemoryLog())
    facts = [fact async for fact in service.on_observation_unverifiable(ObservationUnverifiable(observation=seen()), 1)]
    assert facts == (await ingest(seen(), None)).facts
    assert version_in(facts).provenance == "CLIENT_FALLBACK"


async def test_others_go_on_while_a_long_page_is_read() -> None:
    long = observation(html=text_ref(f"<p>{TEXT}</p>" + "<p>word</p>" * 50_000))
    assert await rounds_during(ingest(long, None)) > 100


async def test_a_site_that_nobody_knows_is_refused() -> None:
    service = Ingest(MemoryTexts(), MemoryLog())
    event = ObservationUnverifiable(observation=seen(post=PostRef(platform="GEOCITIES", external_id="1")))
    with pytest.raises(Reject, match="GEOCITIES"):
        [fact async for fact in service.on_observation_unverifiable(event, 1)]


def version_in(facts: list[Event]) -> VersionEvent:
    """The version's own fact, which is always the last: it answers the reader."""
    assert isinstance(facts[-1], VersionEvent)
    assert not any(isinstance(fact, VersionEvent) for fact in facts[:-1])
    return facts[-1]


def anomalies(facts: list[Event]) -> dict[str, IntegrityAnomalyDetected]:
    """Contradictions by kind."""
    return {fact.kind: fact for fact in facts if isinstance(fact, IntegrityAnomalyDetected)}


@pytest.mark.requirement("2.9-01", "2.8-02", "2.8-05")
async def test_the_site_confirms_what_the_reader_saw() -> None:
    """2.9-01: LessWrong server verification.
    2.8-02: The server computes the version.
    2.8-05: The version hash follows its formula.
    """
    facts = (await ingest(observation(), page())).facts
    version = version_in(facts)
    assert isinstance(version, VersionRegistered)
    assert anomalies(facts) == {}
    assert version.provenance == "SERVER_VERIFIED"
    assert version.content == text_ref(TEXT)
    assert version.version_hash == version_hash(content_hash(TEXT), occurrences_hash(()))
    assert version.version_id == version_id(post_id(POST), version.version_hash)
    assert version.word_count == len(TEXT.split())
    assert version.sighting.server_html == page().html
    assert version.sighting.client_html == observation().html
    assert version.sighting.author == Author(platform_user_id="ada", display_name="Ada")


@pytest.mark.requirement("2.6-04", "2.9-05")
async def test_where_they_differ_the_site_is_right_and_the_difference_is_told() -> None:
    """2.6-04: Where a verified text differs, the site's counts.
    2.9-05: Anomaly recorded on mismatch.
    """
    facts = (await ingest(observation(html=text_ref("<p>Something else.</p>")), page())).facts
    version, found = version_in(facts), anomalies(facts)
    assert isinstance(version, VersionRegistered)
    assert version.content == text_ref(TEXT)
    assert version.provenance == "SERVER_VERIFIED"
    assert set(found) == {"content"}
    assert found["content"].observed == content_hash("Something else.")
    assert found["content"].canonical == content_hash(TEXT)


@pytest.mark.requirement("2.6-05", "2.9-06")
async def test_without_the_site_the_readers_text_counts() -> None:
    """2.6-05: Unverified text goes on as CLIENT_FALLBACK.
    2.9-06: Degraded path on fetch failure.
    """
    facts = (await ingest(seen(), None)).facts
    version = version_in(facts)
    assert isinstance(version, VersionRegistered)
    assert version.provenance == "CLIENT_FALLBACK"
    assert version.content == text_ref(TEXT)
    assert version.sighting.server_html is None
    assert anomalies(facts) == {}


@pytest.mark.parametrize("attested", [True, False, None])
async def test_a_version_tells_whether_its_reader_signed(attested: bool | None) -> None:
    assert version_in((await ingest(seen(attested=attested), None)).facts).sighting.attested is attested


@pytest.mark.parametrize("html", ["", "<script>nothing</script>", "<p>   </p>"])
async def test_an_empty_page_confirms_nothing(html: str) -> None:
    facts = (await ingest(observation(), page(html, post=WIKIPEDIA))).facts
    version = version_in(facts)
    assert version.provenance == "CLIENT_FALLBACK"
    assert version.post == POST, "a page that confirms nothing corrects nothing"
    assert version.sighting.server_html is None
    assert anomalies(facts) == {}


async def test_a_page_too_costly_to_parse_confirms_nothing() -> None:
    version = version_in((await ingest(observation(), page("<div>" * 60_000 + TEXT))).facts)
    assert version.provenance == "CLIENT_FALLBACK"


@pytest.mark.requirement("2.9-04")
async def test_the_sites_word_on_a_post_counts_and_not_the_readers() -> None:
    """2.9-04: Identity correction by server pageId."""
    forged = observation(metadata={"slug": "x", "title": "Forged", "author_name": "Eve", "author_slug": "eve"})
    served = page(
        url="https://www.lesswrong.com/posts/real/slug",
        metadata={"slug": "slug", "title": "Real", "author_name": "Ada", "author_slug": "ada"},
    )
    sighting = version_in((await ingest(forged, served)).facts).sighting
    assert sighting.url == "https://www.lesswrong.com/posts/real/slug"
    assert sighting.author == Author(platform_user_id="ada", display_name="Ada")
    assert sighting.metadata == served.metadata
    nobody = page(metadata={"author_name": None, "author_slug": None})
    sighting = version_in((await ingest(forged, nobody)).facts).sighting
    assert sighting.author is None
    assert sighting.metadata == {"slug": "x", "title": "Forged"}


@pytest.mark.requirement("2.9-04")
async def test_what_the_site_says_otherwise_is_told_with_both_values() -> None:
    """2.9-04: Identity correction by server pageId."""
    forged = observation(
        metadata={"slug": "x", "title": "Forged", "author_name": "Eve", "author_slug": "eve", "karma": 9}
    )
    served = page(metadata={"title": "Real", "author_name": "Ada", "author_slug": None, "karma": 3})
    facts = (await ingest(forged, served)).facts
    said = {kind: (fact.observed, fact.canonical) for kind, fact in anomalies(facts).items()}
    assert said == {"title": ("Forged", "Real"), "author_name": ("Eve", "Ada"), "author_slug": ("eve", "")}
    assert version_in(facts).provenance == "SERVER_VERIFIED"


async def test_a_value_that_was_cut_contradicts_nothing() -> None:
    """The gateway cuts what readers report of titles and names; the site's are whole here."""
    cut = observation(metadata={"slug": "x", "title": "T" * 1_000, "author_name": "N" * 300, "author_slug": "eve"})
    whole = page(metadata={"title": "T" * 1_200, "author_name": "N" * 299 + "MM", "author_slug": "eve"})
    said = {kind: fact.observed for kind, fact in anomalies((await ingest(cut, whole)).facts).items()}
    assert said == {"author_name": "N" * 300}
    longer = page(metadata={"title": "T" * 1_200, "author_name": "N" * 300 + "M", "author_slug": "eve"})
    assert anomalies((await ingest(cut, longer)).facts) == {}


async def test_a_name_written_otherwise_or_not_given_is_no_contradiction() -> None:
    served = page(metadata={"title": "A_real  title", "author_name": "Ada", "author_slug": "ada"})
    for metadata in ({"slug": "x", "title": "A real title", "author_name": "Ada"}, {"slug": "x", "title": None}):
        assert anomalies((await ingest(observation(metadata=metadata), served)).facts) == {}


@pytest.mark.parametrize(
    ("seen_at", "served_at", "told"),
    [
        ("https://evil.example/p/x", "https://pub.substack.com/p/x", ("evil.example", "pub.substack.com")),
        ("https://evil.example/p/x", "https://own.example/p/x", ("evil.example", "own.example")),
        ("https://www.own.example/p/x", "https://own.example/p/x", None),
        ("https://pub.substack.com/p/x", "https://own.example/p/x", None),
        ("https://evil.example/p/x", None, None),
    ],
)
@pytest.mark.requirement("2.9-04")
async def test_a_host_that_is_not_the_posts_is_told(seen_at: str, served_at: str | None, told: object) -> None:
    """2.9-04: Identity correction by server pageId."""
    post = PostRef(platform="SUBSTACK", external_id="1")
    metadata: dict[str, JsonValue] = {"slug": "x", "substack_post_id": "1", "publication_subdomain": "pub"}
    seen_there = observation(post=post, url=seen_at, metadata=metadata)
    facts = (await ingest(seen_there, page(post=post, url=served_at))).facts
    said = {kind: (fact.observed, fact.canonical) for kind, fact in anomalies(facts).items()}
    assert said == ({} if told is None else {"host": told})


async def test_a_page_that_confirms_nothing_says_nothing_else_either() -> None:
    served = page("<p></p>", post=POST, url="https://a.example/", metadata={"author_slug": "x"})
    sighting = version_in((await ingest(observation(), served)).facts).sighting
    assert sighting.url == f"https://www.lesswrong.com/posts/{POST.external_id}"
    assert sighting.author == Author(platform_user_id="ada", display_name="Ada")


async def test_a_text_that_came_with_the_page_is_not_read_again() -> None:
    served = page("<p>not looked at</p>", text=text_ref(TEXT))
    version = version_in((await ingest(observation(), served)).facts)
    assert isinstance(version, VersionRegistered)
    assert version.content == text_ref(TEXT)


async def test_a_reader_whose_page_cannot_be_read_is_told_so() -> None:
    hostile = observation(html=text_ref("<div>" * 60_000 + TEXT))
    refused = await ingest(hostile, None)
    assert isinstance(refused.gave_up, Reject)
    assert "inside one another" in refused.gave_up.reason
    facts = (await ingest(hostile, page())).facts
    assert version_in(facts).provenance == "SERVER_VERIFIED"
    assert anomalies(facts) == {}, "what cannot be read contradicts nothing"


@pytest.mark.requirement("2.9-04")
async def test_the_site_names_the_post() -> None:
    """2.9-04: Identity correction by server pageId."""
    moved = PostRef(platform="WIKIPEDIA", external_id="en:999")
    facts = (await ingest(seen(post=WIKIPEDIA), page(f"<p>{TEXT}</p>", post=moved))).facts
    version, found = version_in(facts), anomalies(facts)
    assert version.post == moved
    assert version.post_id == post_id(moved)
    assert (found["identity"].observed, found["identity"].canonical) == ("en:736", "en:999")
    assert found["identity"].post_id == post_id(moved)


@pytest.mark.requirement("2.6-04")
async def test_pictures_beyond_the_sites_text_are_dropped_and_told() -> None:
    """2.6-04: Where a verified text differs, the site's counts."""
    pictures = (
        ImageOccurrence(original_index=0, normalized_text_offset=4, source_url="https://a.example/1.png"),
        ImageOccurrence(original_index=1, normalized_text_offset=900, source_url="https://a.example/2.png"),
        ImageOccurrence(original_index=2, normalized_text_offset=901, source_url="https://a.example/3.png"),
    )
    outcome = await ingest(observation(occurrences=pictures), page())
    version, found = version_in(outcome.facts), anomalies(outcome.facts)
    assert isinstance(version, VersionRegistered)
    assert outcome.gave_up is None
    assert version.occurrences == pictures[:1]
    assert version.occurrences_hash == occurrences_hash(pictures[:1])
    assert set(found) == {"image_occurrences"}
    assert found["image_occurrences"].canonical == "1 kept"


@pytest.mark.parametrize("observed", [seen(None), seen(" \u200b\n"), observation(html=text_ref("<style>p{}</style>"))])
async def test_a_page_without_text_is_no_version(observed: Observation) -> None:
    outcome = await ingest(observed, None)
    assert isinstance(outcome.gave_up, Reject)
    assert outcome.facts == []


@pytest.mark.requirement("2.9-09", "3.2-11")
async def test_a_version_is_registered_once_verified_once_and_seen_otherwise() -> None:
    """2.9-09: Verification is recorded once and stays.
    3.2-11: seenCount / lastSeenAt maintained.
    """
    log = MemoryLog()
    told = []
    for number, served in enumerate([None, None, page(), page(), None]):
        observed = observation(observation_id=f"01960000-0000-7000-8000-{number:012d}")
        told.append(version_in((await ingest(observed, served, log)).facts))
    assert [type(fact) for fact in told] == [VersionRegistered, VersionSeen, VersionVerified, VersionSeen, VersionSeen]
    assert [fact.provenance for fact in told] == ["CLIENT_FALLBACK"] * 2 + ["SERVER_VERIFIED"] * 3
    assert len({fact.version_id for fact in told}) == 1
    assert len({fact.event_id() for fact in told}) == len(told)


@pytest.mark.requirement("2.13-04")
async def test_an_observation_that_comes_again_tells_the_same_fact_again() -> None:
    """2.13-04: A made-up text is another version."""
    log = MemoryLog()
    deliveries = [
        (observation(observation_id=f"01960000-0000-7000-8000-{number:012d}"), served)
        for number, served in enumerate([None, page(), page()])
    ]
    told = [version_in((await ingest(*delivery, log)).facts) for delivery in deliveries]
    assert [type(fact) for fact in told] == [VersionRegistered, VersionVerified, VersionSeen]
    again = [version_in((await ingest(*delivery, log)).facts) for delivery in deliveries]
    assert [fact.event_id() for fact in again] == [fact.event_id() for fact in told]


async def test_another_text_is_another_version_of_the_same_post() -> None:
    one, other = [version_in((await ingest(seen(text), None)).facts) for text in (TEXT, f"{TEXT} Or is it?")]
    assert one.version_id != other.version_id
    assert one.post_id == other.post_id


async def test_a_large_text_is_stored_and_named() -> None:
    texts, text = MemoryTexts(), "word " * 5_000 + "end"
    service = Ingest(texts, MemoryLog())
    facts = (await handled(service.on_canonical_unavailable(unavailable(seen(text)), 1))).facts
    version = version_in(facts)
    assert isinstance(version, VersionRegistered)
    assert version.content.inline is None
    assert await texts.get_text(version.content) == text


words = st.lists(st.sampled_from(["a", "mountain", "é", "👍", "1963."]), max_size=6).map(" ".join)
pictures = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 60)).map(
        lambda pair: ImageOccurrence(
            original_index=pair[0], normalized_text_offset=pair[1], source_url=f"https://a.example/{pair[0]}"
        )
    ),
    max_size=5,
)


@given(words, words, pictures, st.booleans())
def test_every_observation_with_a_text_has_exactly_one_version(
    observed_text: str, canonical_text: str, occurrences: list[ImageOccurrence], has_page: bool
) -> None:
    observed = seen(observed_text or "x", occurrences=tuple(occurrences))
    served, text = (page(), canonical_text) if has_page else (None, None)
    pinned = pin(observed, observed_text or "x", served, text, get_platform(observed.post.platform))
    assert pinned.verified == bool(has_page and canonical_text)
    assert pinned.text == (canonical_text if pinned.verified else observed_text or "x")
    assert pinned.version_hash == version_hash(content_hash(pinned.text), pinned.occurrences_hash)
    assert [picture.original_index for picture in pinned.occurrences] == list(range(len(pinned.occurrences)))
    assert len({anomaly.event_id() for anomaly in pinned.anomalies}) == len(pinned.anomalies)


@pytest.mark.parametrize("corrected", [False, True])
async def test_an_erased_post_is_not_taken_whoever_says_that_it_is_this_post(corrected: bool) -> None:
    erased = ErasureOrdered(erasure_id=uuid4(), post_id=post_id(POST), reason="asked for")
    log, texts = MemoryLog(erased), MemoryTexts(inline_bytes=0)
    elsewhere = PostRef(platform=POST.platform, external_id="another")
    observed = observation(post=elsewhere) if corrected else observation()
    texts.stored |= {ref.sha256: ref.inline or "" for ref in (observed.html, page().html) if ref is not None}
    before = dict(texts.stored)
    outcome = await handled(Ingest(texts, log).on_canonical_fetched(fetched(observed, page()), 1), log)
    assert (outcome.facts, texts.stored) == ([], before)
    assert isinstance(outcome.gave_up, Reject)
    assert not outcome.gave_up.dead_letter, "a copy of the message would hold the text"
    assert version_in((await ingest(observation(post=elsewhere), None, log)).facts)


DENIED = sorted(REFUSALS)


@pytest.mark.parametrize("reason", DENIED)
async def test_a_page_that_its_site_denies_is_no_version(reason: str) -> None:
    log, texts = MemoryLog(), MemoryTexts(inline_bytes=0)
    observed = observation()
    texts.stored |= {observed.html.sha256: observed.html.inline or ""} if observed.html else {}
    before = dict(texts.stored)
    event = unavailable(observed).model_copy(update={"reason": reason})
    outcome = await handled(Ingest(texts, log).on_canonical_unavailable(event, 1), log)
    assert (outcome.facts, texts.stored) == ([], before)
    assert isinstance(outcome.gave_up, Reject)
    assert not outcome.gave_up.dead_letter, "nobody has to decide about it"


@pytest.mark.parametrize("reason", DENIED)
async def test_a_text_that_the_site_confirmed_before_is_seen_again_after_a_denial(reason: str) -> None:
    log = MemoryLog()
    await ingest(observation(), page(), log)
    event = unavailable(observation(observation_id=uuid4())).model_copy(update={"reason": reason})
    version = version_in((await handled(Ingest(MemoryTexts(), log).on_canonical_unavailable(event, 1), log)).facts)
    assert isinstance(version, VersionSeen)
    assert version.provenance == "SERVER_VERIFIED"
    assert version.sighting.site_confirmed is False


async def test_a_text_that_only_readers_vouched_for_is_not_taken_after_a_denial() -> None:
    log = MemoryLog()
    await ingest(observation(), None, log)
    event = unavailable(observation(observation_id=uuid4())).model_copy(update={"reason": "not_found"})
    outcome = await handled(Ingest(MemoryTexts(), log).on_canonical_unavailable(event, 1), log)
    assert isinstance(outcome.gave_up, Reject)
    assert outcome.facts == []


@pytest.mark.parametrize("reason", ["timeout", "server_error", "site_busy", "other_host", "other_publication"])
async def test_an_outage_leaves_the_readers_text(reason: str) -> None:
    event = unavailable(observation()).model_copy(update={"reason": reason})
    facts = (await handled(Ingest(MemoryTexts(), MemoryLog()).on_canonical_unavailable(event, 1))).facts
    assert version_in(facts).provenance == "CLIENT_FALLBACK"


async def test_a_sighting_says_whose_words_its_title_and_author_are() -> None:
    observed = observation(network_key="a" * 64)
    for served in (page(), None):
        sighting = version_in((await ingest(observed, served)).facts).sighting
        assert sighting.site_confirmed is (served is not None)
        assert sighting.network_key == "a" * 64


@pytest.mark.parametrize("title", ["A mountain", None])
async def test_no_title_of_a_readers_stands_beside_the_sites_own(title: str | None) -> None:
    observed = seen(post=WIKIPEDIA, metadata={"display_title": "<b>Forged</b>", "title": "Forged"})
    served = page(post=WIKIPEDIA, metadata={"title": "A_mountain", "display_title": title})
    sighting = version_in((await ingest(observed, served)).facts).sighting
    assert sighting.metadata == {"title": "A_mountain"} | ({"display_title": title} if title else {})
