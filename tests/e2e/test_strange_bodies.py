"""Whatever a stranger sends ends in a clean refusal, and neither log nor tables know of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from random import Random
from string import ascii_letters, digits
from typing import Any

import pytest

from tests.e2e.conftest import World
from tests.e2e.posts import on_lesswrong, on_substack, on_wikipedia, on_x
from tests.support.extension_client import RpcFailed, read

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

REGISTER = "post.registerObservedVersion"
Json = dict[str, Any]
DEEP = 100_000


def changed(**changes: Any) -> bytes:
    """A post on X with something else in it."""
    return json.dumps({**on_x("A quiet walk."), **changes}).encode()


def told(**changes: Any) -> bytes:
    """A post on X with other metadata."""
    post = on_x("A quiet walk.")
    return json.dumps({**post, "metadata": {**post["metadata"], **changes}}).encode()


def lesswrong(**changes: Any) -> bytes:
    """A post on LessWrong with something else in it."""
    return json.dumps({**on_lesswrong("A quiet walk."), **changes}).encode()


def picture(**changes: Any) -> Json:
    """A picture at the start of the text, with something else in it."""
    return {"originalIndex": 0, "normalizedTextOffset": 0, "sourceUrl": "https://img.example/1.png", **changes}


BODIES: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no JSON": lambda: b"walk",
    "half of it": lambda: changed()[:-10],
    "null": lambda: b"null",
    "a list": lambda: b"[" + changed() + b"]",
    "wrapped": lambda: b'{"json":' + changed() + b"}",
    "NUL": lambda: changed(observedContentText="a\0b"),
    "a raw NUL": lambda: changed().replace(b"quiet", b"qu\0et"),
    "NUL in metadata": lambda: told(authorHandle="walk\0er"),
    "NUL in a key": lambda: changed(**{"a\0b": 1}),
    "half a surrogate pair": lambda: changed(observedContentText="a\ud800b"),
    "the other half": lambda: changed(observedContentText="a\udfffb"),
    "no UTF-8": lambda: changed().replace(b"quiet", b"qu\xffet"),
    "surrogates as UTF-8": lambda: changed().replace(b"quiet", b"qu\xed\xa0\x80et"),
    "deep lists": lambda: b"[" * DEEP + b"]" * DEEP,
    "deep objects": lambda: b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a deep field": lambda: changed()[:-1] + b',"metadata":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "too many characters": lambda: changed(observedContentText="x" * 500_001),
    "too many bytes": lambda: changed(observedContentText="é" * 250_001),
    "no text": lambda: changed(observedContentText=""),
    "blank text": lambda: changed(observedContentText=" \n\u200b\ufeff "),
    "text as a number": lambda: changed(observedContentText=1),
    "text as null": lambda: changed(observedContentText=None),
    "a number as id": lambda: changed(externalId=1234567890),
    "another id": lambda: changed(externalId="1"),
    "an unknown key": lambda: changed(versionHash="0" * 64),
    "an unknown key in metadata": lambda: told(karma=3),
    "a true number": lambda: told(likeCount=True),
    "a negative number": lambda: told(likeCount=-1),
    "a fraction": lambda: told(likeCount=1.5),
    "an endless number": lambda: told(likeCount=2).replace(b'"likeCount": 2', b'"likeCount": 1e999'),
    "not a number": lambda: told(likeCount=2).replace(b'"likeCount": 2', b'"likeCount": NaN'),
    "a day that never was": lambda: told(postedAt="2026-02-30T00:00:00Z"),
    "a local time": lambda: told(postedAt="2026-02-20T00:00:00+01:00"),
    "a script as address": lambda: changed(url="javascript:alert(1)"),
    "a file as address": lambda: changed(url="file:///etc/passwd"),
    "data as address": lambda: changed(url="data:text/html,x"),
    "no address": lambda: changed(url="x.com/walker/status/1"),
    "credentials in the address": lambda: changed(url="https://user:secret@x.com/walker/status/1"),
    "an address elsewhere": lambda: changed(url="https://en.wikipedia.org/wiki/Walk"),
    "a private address": lambda: changed(url="http://127.0.0.1:8080/walker/status/1"),
    "another site's fields": lambda: changed(platform="SUBSTACK"),
    "an unknown site": lambda: changed(platform="MYSPACE"),
    "a site in small letters": lambda: changed(platform="x"),
    "a LessWrong post with a text": lambda: lesswrong(observedContentText="x"),
    "a LessWrong post without words": lambda: lesswrong(
        metadata={"slug": "a", "tags": [], "htmlContent": "<p> </p><script>walk()</script>"}
    ),
    "a LessWrong post without HTML": lambda: lesswrong(metadata={"slug": "a", "tags": []}),
    "a Substack post with a word as id": lambda: json.dumps({**on_substack("A walk."), "externalId": "walk"}).encode(),
    "pictures with a gap": lambda: changed(observedImageOccurrences=[picture(), picture(originalIndex=2)]),
    "a picture beyond the end": lambda: changed(observedImageOccurrences=[picture(normalizedTextOffset=1_000_000)]),
    "a picture before the beginning": lambda: changed(observedImageOccurrences=[picture(normalizedTextOffset=-1)]),
    "a picture from nowhere": lambda: changed(observedImageOccurrences=[picture(sourceUrl="nowhere")]),
    "too many pictures": lambda: changed(observedImageOccurrences=[picture(originalIndex=n) for n in range(257)]),
}  # fmt: skip

WIKIPEDIA: dict[str, Json] = {
    "with an id of its own": {"externalId": "en:1"},
    "another language": {"url": "https://de.wikipedia.org/wiki/A_walk"},
    "another title": {"url": "https://en.wikipedia.org/wiki/Another_walk"},
    "another page id": {"url": "https://en.wikipedia.org/?curid=77"},
    "a talk page": {"url": "https://en.wikipedia.org/wiki/Talk:A_walk"},
    "a lookalike host": {"url": "https://en.wikipedia.org.example.com/wiki/A_walk"},
}


async def state(world: World) -> tuple[object, object]:
    """Where the streams end, and every row."""
    return await world.oracle.settled(), await world.oracle.rows()


@pytest.mark.requirement("3.1-03", "2.13-06", "2.1-01")
async def test_strange_observations_leave_no_trace(world: World) -> None:
    """3.1-03: Runtime validation at API boundary.
    2.13-06: 500,000 chars/bytes limit.
    2.1-01: LessWrong posts supported.
    """
    bodies = {name: make() for name, make in BODIES.items()}
    article = on_wikipedia(world.sites, "A walk.").observation
    bodies |= {f"an article {name}": json.dumps({**article, **change}).encode() for name, change in WIKIPEDIA.items()}
    before = await state(world)
    wrong: dict[str, object] = {}
    async with world.reader() as reader:
        headers = {"content-type": "application/json", "x-openerrata-extension-version": reader.version}
        for name, body in bodies.items():
            response = await reader.http.post(f"/trpc/{REGISTER}", content=body, headers=headers)
            too_large = len(body) > 524_288
            try:
                wrong[name] = read(response)
            except RpcFailed as failed:
                expected = (413, "PAYLOAD_TOO_LARGE") if too_large else (400, "BAD_REQUEST")
                if (failed.status, failed.data["code"]) != expected:
                    wrong[name] = failed
    assert wrong == {}
    assert await state(world) == before


def noisy(post: Json) -> list[tuple[str, bytes]]:
    """The post once for each of its strings, with 3,000 characters instead that cannot be compressed."""
    noise = Random(7).choices(ascii_letters + digits, k=3_000)
    fields = [(post, name) for name, value in post.items() if isinstance(value, str) and name != "platform"]
    fields += [(post["metadata"], name) for name, value in post["metadata"].items() if isinstance(value, str)]
    bodies = []
    for holder, name in fields:
        kept, holder[name] = holder[name], "".join(noise)
        bodies.append((f"{post['platform']} {name}", json.dumps(post).encode()))
        holder[name] = kept
    return bodies


async def test_a_field_too_long_for_an_index_stops_nobody(world: World) -> None:
    article = on_wikipedia(world.sites, "A walk.").observation
    substack = on_substack("A walk.")
    substack["metadata"] |= {"subtitle": "Slowly", "authorSubstackHandle": "walker"}
    lesswrong = on_lesswrong("A walk.")
    lesswrong["metadata"] |= {"title": "A walk", "authorName": "A walker", "authorSlug": "walker"}
    tweet = on_x("A walk.")
    tweet["metadata"]["authorDisplayName"] = "A walker"
    async with world.reader() as reader:
        headers = {"content-type": "application/json", "x-openerrata-extension-version": reader.version}
        for post in (article, substack, lesswrong, tweet):
            for name, body in noisy(post):
                response = await reader.http.post(f"/trpc/{REGISTER}", content=body, headers=headers)
                assert response.status_code in (200, 400), f"{name}: {response.text}"
        assert (await reader.register(on_x("And back again.")))["postVersionId"]


@pytest.mark.requirement("3.1-03", "3.3-04")
@pytest.mark.parametrize("procedure", ["post.recordViewAndGetStatus", "post.investigateNow"])
async def test_strange_ids_leave_no_trace(world: World, procedure: str) -> None:
    """3.1-03: Runtime validation at API boundary.
    3.3-04: An unknown investigation is NOT_INVESTIGATED.
    """
    before = await state(world)
    async with world.member() as reader:
        headers = {
            "content-type": "application/json",
            "x-openerrata-extension-version": reader.version,
            "x-api-key": reader.api_key,
        }
        strange: tuple[object, ...] = ("", 1, None, True, [], {}, "a\0b", "\ud800")
        for name in strange:
            body = json.dumps({"postVersionId": name}).encode()
            response = await reader.http.post(f"/trpc/{procedure}", content=body, headers=headers)
            with pytest.raises(RpcFailed) as failed:
                read(response)
            assert failed.value.status == 400, body
        for body in (b"{}", b'{"postVersionId":"a","b":1}', b'{"postVersionId":"a"}{}', b"\xff"):
            response = await reader.http.post(f"/trpc/{procedure}", content=body, headers=headers)
            assert response.status_code == 400, body
    assert await state(world) == before


@pytest.mark.requirement("2.13-06")
async def test_a_flood_is_refused_however_it_is_sent(world: World) -> None:
    """2.13-06: 500,000 chars/bytes limit."""
    large = changed(observedContentText="x" * 600_000)

    async def in_pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 10_000):
            yield large[start : start + 10_000]

    before = await state(world)
    async with world.reader() as reader:
        headers = {"content-type": "application/json", "x-openerrata-extension-version": reader.version}
        for content in (large, in_pieces()):
            response = await reader.http.post(f"/trpc/{REGISTER}", content=content, headers=headers)
            assert ("content-length" in response.request.headers) == (content is large)
            with pytest.raises(RpcFailed) as failed:
                read(response)
            assert failed.value.status == 413
            assert failed.value.data["openerrataCode"] == "PAYLOAD_TOO_LARGE"
        for content_type in ("text/plain", "multipart/form-data", ""):
            unread = await reader.http.post(
                f"/trpc/{REGISTER}", content=changed(), headers={**headers, "content-type": content_type}
            )
            assert unread.status_code == 415
    assert await state(world) == before
