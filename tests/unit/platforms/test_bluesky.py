"""Bluesky: which requests are made, what their answers prove, and what is made of a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.pages import Observation
from platforms import get_platform
from platforms.atproto.cbor import Cid, Value, decode, encode
from platforms.atproto.did import parse_document
from platforms.atproto.records import HIDDEN, prove_post
from platforms.base import (
    HIDDEN_BY_AUTHOR,
    NO_PUBLIC_SOURCE,
    REFUSALS,
    CanonicalAnswer,
    CanonicalMismatch,
    IdentityMismatch,
    Sequence,
    SiteAnswer,
)
from platforms.bluesky import Bluesky
from platforms.bluesky_text import make_html
from platforms.text import normalize
from tests.support.bluesky import Network, observation, signed
from tests.support.repositories import (
    DID,
    HANDLE,
    NOW,
    OTHER_DID,
    POST_PATH,
    PROFILE_PATH,
    RKEY,
    Repository,
    Signer,
    post,
    profile,
    tid,
)

SERVER = "https://pds.example.com"
WORDS = "Tea is the most consumed drink.\n\nAfter <b>water</b> & beer…"


def network(**records: Value) -> Network:
    return signed({POST_PATH: post(WORDS), PROFILE_PATH: profile(), **records}, NOW)


def walk(
    of: Network, seen: Observation | None = None, server: str = SERVER, endpoints: dict[str, str] | None = None
) -> tuple[CanonicalAnswer, list[str]]:
    """The page, and every address that was asked."""
    steps = Bluesky().steps(seen or observation(), endpoints or {})
    assert steps is not None
    asked: list[str] = []
    request = next(steps)
    while True:
        asked.append(request.url)
        parts = urlsplit(request.url)
        answer = of.answer(parts.path, dict(parse_qsl(parts.query)), server)
        assert answer.status == 200 or answer.status in request.readable_statuses
        assert request.max_bytes is not None
        try:
            request = steps.send(SiteAnswer(answer.status, answer.body, NOW))
        except StopIteration as end:
            return end.value, asked


def refused(of: Network, seen: Observation | None = None, server: str = SERVER) -> CanonicalMismatch:
    with pytest.raises(CanonicalMismatch) as error:
        walk(of, seen, server)
    return error.value


@pytest.mark.requirement("FS-50", "FS-51")
def test_a_proved_post_is_pinned_to_its_record() -> None:
    """FS-50: The text is taken only from a proved record.
    FS-51: A version is pinned to address and hash of its record.
    """
    of = network()
    page, asked = walk(of)
    query = f"com.atproto.sync.getRecord?did={DID.replace(':', '%3A')}&collection="
    assert asked == [
        f"https://plc.directory/{DID}",
        f"https://public.api.bsky.app/xrpc/com.atproto.identity.resolveHandle?handle={HANDLE}",
        f"{SERVER}/xrpc/{query}app.bsky.feed.post&rkey={RKEY}",
        f"{SERVER}/xrpc/{query}app.bsky.actor.profile&rkey=self",
    ]
    assert page.html == "<p>Tea is the most consumed drink.</p><p>After &lt;b&gt;water&lt;/b&gt; &amp; beer…</p>"
    cid = str(Cid.of(encode(post(WORDS))))
    assert (page.post.external_id, page.revision_id) == (f"{DID}/{RKEY}", cid)
    assert page.url == f"https://bsky.app/profile/{DID}/post/{RKEY}"
    assert page.sequence == Sequence(DID, tid(NOW))
    assert {name: page.metadata[name] for name in ("uri", "cid", "rev", "signing_key", "author_name")} == {
        "uri": f"at://{DID}/{POST_PATH}",
        "cid": cid,
        "rev": tid(NOW),
        "signing_key": f"did:key:{Signer().multibase}",
        "author_name": "Ann Lee",
    }
    other, _ = walk(network(**{POST_PATH: post("Coffee is better.")}))
    assert other.post == page.post
    assert other.revision_id != page.revision_id


def test_the_proof_can_be_checked_again_without_the_site() -> None:
    page, _ = walk(network())
    assert page.proof is not None
    kept = decode(page.proof)
    assert isinstance(kept, dict)
    document, car = kept["document"], kept["post"]
    assert isinstance(document, bytes)
    assert isinstance(car, bytes)
    again = prove_post(car, parse_document(json.loads(document), DID), RKEY, NOW)
    assert again is not None
    assert again.text == WORDS


@pytest.mark.requirement("FS-48")
def test_both_forms_of_an_address_give_one_post() -> None:
    """FS-48: A post is named by its author's DID and its record key, never by a handle."""
    site, pages = Bluesky(), []
    for actor in (HANDLE, HANDLE.upper(), DID, DID.replace(":", "%3A")):
        seen = observation(actor)
        assert site.check(seen.url, seen.post.external_id, seen.metadata) == seen.post
        assert site.address(seen) == f"https://bsky.app/profile/{DID}/post/{RKEY}"
        pages.append(walk(network(), seen)[0])
    assert {(page.post, page.url, page.revision_id) for page in pages} == {
        (observation().post, site.address(observation()), pages[0].revision_id)
    }


@pytest.mark.requirement("FS-48")
@pytest.mark.parametrize(
    ("url", "external_id", "did"),
    [
        (f"https://bsky.app/profile/{HANDLE}/post/{RKEY}", f"{HANDLE}/{RKEY}", HANDLE),
        (f"https://bsky.app/profile/{DID}/post/{RKEY}", f"{DID}/other", DID),
        (f"https://bsky.app/profile/{OTHER_DID}/post/{RKEY}", f"{DID}/{RKEY}", DID),
        (f"https://bsky.app/profile/{HANDLE}/post/{RKEY}", f"{DID}/{RKEY}", OTHER_DID),
        (f"https://bsky.app/profile/not-a-name/post/{RKEY}", f"{DID}/{RKEY}", DID),
        (f"https://bsky.app/profile/{DID}/lists/{RKEY}", f"{DID}/{RKEY}", DID),
        (f"https://bsky.example/profile/{DID}/post/{RKEY}", f"{DID}/{RKEY}", DID),
        (f"https://bsky.app/profile/did:web:localhost/post/{RKEY}", f"did:web:localhost/{RKEY}", "did:web:localhost"),
        (f"https://bsky.app/profile/{DID}/post/..", f"{DID}/..", DID),
    ],
)
def test_an_address_that_names_another_post_is_refused(url: str, external_id: str, did: str) -> None:
    """FS-48: A post is named by its author's DID and its record key, never by a handle."""
    with pytest.raises(IdentityMismatch):
        Bluesky().check(url, external_id, {"author_did": did})


@pytest.mark.requirement("FS-49")
@pytest.mark.parametrize(
    "bend",
    [
        lambda of: replace(of, claimed=()),
        lambda of: replace(of, handles={HANDLE: OTHER_DID}),
        lambda of: replace(of, handles={}),
        lambda of: replace(of, claimed=("other.example.com",)),
    ],
    ids=["not claimed", "leads elsewhere", "leads nowhere", "another claimed"],
)
def test_a_one_sided_handle_is_refused(bend: Callable[[Network], Network]) -> None:
    """FS-49: A handle counts only if its DID document names it back."""
    error = refused(bend(network()))
    assert (error.reason, str(error)) == ("bad_answer", "handle: DID and handle do not name one another")
    assert walk(bend(network()), observation(DID))[0].metadata["author_handle"] is None


@pytest.mark.requirement("FS-52")
def test_an_author_who_asks_not_to_be_shown_is_not_public() -> None:
    """FS-52: An author's wish not to be shown without an account means not public."""
    assert refused(network(**{PROFILE_PATH: profile("Ann", HIDDEN)})).reason == HIDDEN_BY_AUTHOR
    assert HIDDEN_BY_AUTHOR in REFUSALS


@pytest.mark.requirement("FS-52")
def test_an_older_profile_does_not_hide_the_wish() -> None:
    """FS-52: An author's wish not to be shown without an account means not public."""
    now, before = network(), signed({POST_PATH: post(WORDS)}, NOW - timedelta(days=1))
    cars = [now.repository.car(POST_PATH), before.repository.car(PROFILE_PATH)]
    error = refused(replace(now, forge=lambda _: cars.pop(0)))
    assert error.reason == "bad_answer"
    assert str(error).startswith("profile: revision: ")


@pytest.mark.parametrize("code", ["RepoNotFound", "RepoTakendown", "RepoSuspended", "RepoDeactivated"])
def test_a_repository_that_is_not_shown_is_not_public(code: str) -> None:
    assert refused(replace(network(), error=code)).reason == "not_public"


def test_any_other_error_is_a_bad_answer() -> None:
    assert refused(replace(network(), error="RecordNotFound")).reason == "bad_answer"


def test_a_post_that_is_proved_to_be_gone_is_not_found() -> None:
    gone = signed({PROFILE_PATH: profile()}, NOW)
    assert refused(gone).reason == "not_found"


def test_a_post_of_pictures_alone_has_no_text() -> None:
    assert refused(network(**{POST_PATH: post(" \n\n")})).reason == "no_text"


@pytest.mark.requirement("FS-50")
def test_a_proof_that_fails_names_its_check() -> None:
    """FS-50: The text is taken only from a proved record."""
    for forge, check in (
        (lambda car: car[:-1], "car"),
        (lambda _: Repository({POST_PATH: post("Lies.")}, signer=Signer(secret=8)).car(POST_PATH), "signature"),
        (lambda _: Repository({POST_PATH: post("Lies.")}, did=OTHER_DID).car(POST_PATH), "commit"),
    ):
        error = refused(replace(network(), forge=forge))
        assert error.reason == "bad_answer"
        assert str(error).startswith(f"{check}: ")


@pytest.mark.parametrize(
    "server",
    [
        "http://pds.example.com",
        "https://ann@pds.example.com",
        "https://pds.example.com/path",
        "https://pds.example.com/?x",
        "ftp://pds.example.com",
        "not an address",
    ],
)
def test_a_server_that_is_no_origin_over_https_is_not_asked(server: str) -> None:
    error = refused(network(), server=server)
    assert (error.reason, str(error).partition(":")[0]) == ("bad_answer", "did_document")


def test_a_server_where_an_operator_says_may_be_without_https() -> None:
    here = "http://127.0.0.1:9"
    _, asked = walk(network(), server=here, endpoints={"BLUESKY": here, "PLC": f"{here}/"})
    assert all(url.startswith(f"{here}/") for url in asked)


def test_a_did_of_the_web_is_asked_at_its_own_host() -> None:
    steps = Bluesky().steps(observation("did:web:ann.example.com", "did:web:ann.example.com"), {})
    assert steps is not None
    assert next(steps).url == "https://ann.example.com/.well-known/did.json"
    assert Bluesky().steps(observation("x", "did:web:127.0.0.1"), {}) is None
    assert NO_PUBLIC_SOURCE in REFUSALS


def test_posts_of_one_author_are_looked_up_apart() -> None:
    first, second, other = (
        Bluesky().canonical_request(seen)
        for seen in (observation(), observation(key="3l6oveex3ii2m"), observation("other.example.com"))
    )
    assert len({first, second, other}) == 3


@given(st.text())
def test_a_records_text_is_the_pages(text: str) -> None:
    assert get_platform("BLUESKY").extract_text(make_html(text)) == normalize(text.replace("\0", ""))


def test_what_only_a_proof_says_no_browser_can_send() -> None:
    sent: dict[str, Any] = {
        "platform": "BLUESKY",
        "externalId": f"{DID}/{RKEY}",
        "url": f"https://bsky.app/profile/{DID}/post/{RKEY}",
        "observedContentText": "Tea.",
        "metadata": {"authorDid": DID, "publishedAt": "2026-11-20T10:00:00.000Z"},
    }
    assert Bluesky.observed.model_validate(sent)
    for name in ("signingKey", "cid", "uri", "rev", "proofSha256"):
        changed = {**sent, "metadata": {**sent["metadata"], name: "x"}}
        try:
            seen = Bluesky.observed.model_validate(changed)
        except ValueError:
            continue
        assert name not in seen.metadata.model_dump(by_alias=True)
