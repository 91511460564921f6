"""The rules of every field that a stranger may send, and that nothing at all makes the gateway fail."""

from __future__ import annotations

import copy
import json
from typing import Any

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.rpc.status import BatchQuestion
from contracts.rpc.values import WebPictures, is_web_url, read
from platforms import ObservedVersion
from services.gateway.http import MAX_ERRORS
from services.gateway.jobs.problems import from_validation
from services.gateway.public.appeals import AppealRequest
from services.gateway.public.posted import Refusal, parse
from services.gateway.rpc import ISSUES_SHOWN
from tests.support.growth import cpu_s
from tests.unit.gateway.fakes import (
    Bench,
    data,
    error,
    post_on_lesswrong,
    post_on_substack,
    post_on_wikipedia,
    post_on_x,
)

OBSERVED: TypeAdapter[Any] = TypeAdapter(ObservedVersion)
POSTS = {"LESSWRONG": post_on_lesswrong, "X": post_on_x, "SUBSTACK": post_on_substack, "WIKIPEDIA": post_on_wikipedia}
REMOVED = ...
Change = tuple[str, object]


def named(value: object) -> str:
    return value if isinstance(value, str) else ascii(value)[:60]


def changed(platform: str, *changes: Change) -> bytes:
    body = copy.deepcopy(POSTS[platform]())
    for path, value in changes:
        *steps, last = path.split(".")
        at: Any = body
        for step in steps:
            at = at[step]
        if value is REMOVED:
            del at[last]
        else:
            at[last] = value
    return json.dumps(body).encode()


@pytest.mark.parametrize("platform", POSTS)
def test_a_well_formed_observation_is_read(platform: str) -> None:
    assert read(OBSERVED, changed(platform)).platform == platform


ALLOWED: list[tuple[str, Change]] = [
    ("X", ("metadata.likeCount", 1.0)),
    ("X", ("metadata.likeCount", 0)),
    ("X", ("metadata.retweetCount", 2**53 - 1)),
    ("X", ("metadata.authorDisplayName", None)),
    ("X", ("metadata.postedAt", "2024-02-29T23:59Z")),
    ("X", ("metadata.postedAt", "2024-02-29T23:59:59.123456789Z")),
    ("X", ("metadata.mediaUrls", ["https://pbs.twimg.com/media/a?format=jpg"])),
    ("X", ("url", "\ufeff https://x.com/a/status/1\n")),
    ("X", ("observedContentText", "\\u0000 written out")),
    ("LESSWRONG", ("metadata.authorSlug", None)),
    ("LESSWRONG", ("metadata.tags", ["AI", " "])),
    ("SUBSTACK", ("metadata.htmlContent", "<p>x</p>")),
    ("SUBSTACK", ("metadata.commentCount", 3)),
    ("WIKIPEDIA", ("metadata.language", "ZH-min-nan")),
    ("WIKIPEDIA", ("metadata.lastModifiedAt", "2026-01-01T00:00:00Z")),
    ("X", ("observedImageUrls", ["https://e.org/"] * 300)),
    ("X", ("observedImageOccurrences", [])),
]


@pytest.mark.parametrize(("platform", "change"), ALLOWED, ids=named)
def test_what_the_wire_allows_is_read(platform: str, change: Change) -> None:
    read(OBSERVED, changed(platform, change))


REFUSED: list[tuple[str, Change]] = [
    ("X", ("platform", "MASTODON")),
    ("X", ("platform", REMOVED)),
    ("X", ("extra", 1)),
    ("X", ("external_id", "1")),
    ("X", ("externalId", "")),
    ("X", ("externalId", 1)),
    ("X", ("url", "javascript:alert(1)")),
    ("X", ("url", "mailto:a@example.org")),
    ("X", ("url", "/relative")),
    ("X", ("url", "https://")),
    ("X", ("url", "https://exa mple.org/")),
    ("X", ("url", " ")),
    ("X", ("observedContentText", "")),
    ("X", ("observedContentText", "a\0b")),
    ("X", ("observedContentText", "\ud83d")),
    ("X", ("observedContentText", REMOVED)),
    ("X", ("metadata.text", "\0")),
    ("X", ("metadata.likeCount", True)),
    ("X", ("metadata.likeCount", "1")),
    ("X", ("metadata.likeCount", 1.5)),
    ("X", ("metadata.likeCount", -1)),
    ("X", ("metadata.likeCount", 2**53)),
    ("X", ("metadata.likeCount", 1e300)),
    ("X", ("metadata.likeCount", float("nan"))),
    ("X", ("metadata.likeCount", None)),
    ("X", ("metadata.mediaUrls", REMOVED)),
    ("X", ("metadata.mediaUrls", ["no address"])),
    ("X", ("metadata.mediaUrls", {"0": "https://e.org/"})),
    ("X", ("metadata.postedAt", "2026-01-01T00:00:00+00:00")),
    ("X", ("metadata.postedAt", "2026-02-29T00:00:00Z")),
    ("X", ("metadata.postedAt", "2026-01-01T24:00:00Z")),
    ("X", ("metadata.postedAt", "2026-01-01T00:00:00Z\n")),
    ("X", ("metadata.postedAt", "2026-01-01")),
    ("X", ("metadata.postedAt", "0000-01-01T00:00:00Z")),
    ("X", ("metadata.karma", 1)),
    ("LESSWRONG", ("observedContentText", "Alpha")),
    ("LESSWRONG", ("metadata.htmlContent", "")),
    ("LESSWRONG", ("metadata.htmlContent", REMOVED)),
    ("LESSWRONG", ("metadata.title", None)),
    ("LESSWRONG", ("metadata.tags", [""])),
    ("LESSWRONG", ("metadata.publishedAt", None)),
    ("SUBSTACK", ("metadata.substackPostId", "12a")),
    ("SUBSTACK", ("metadata.substackPostId", "٣")),
    ("SUBSTACK", ("metadata.substackPostId", "1\n")),
    ("SUBSTACK", ("metadata.subtitle", "")),
    ("WIKIPEDIA", ("externalId", "en:736")),
    ("WIKIPEDIA", ("metadata.language", "1en")),
    ("WIKIPEDIA", ("metadata.language", "en/../")),
    ("WIKIPEDIA", ("metadata.pageId", 736)),
    ("X", ("observedImageUrls", None)),
    ("X", ("observedImageUrls", ["/relative.png"])),
    (
        "X",
        ("observedImageOccurrences", [{"originalIndex": 0, "normalizedTextOffset": 0, "sourceUrl": "https://"}]),
    ),
    ("X", ("observedImageOccurrences", [{"originalIndex": 0, "normalizedTextOffset": 0}])),
    (
        "X",
        (
            "observedImageOccurrences",
            [{"originalIndex": 0, "normalizedTextOffset": 0, "sourceUrl": "https://e.org/", "captionText": ""}],
        ),
    ),
    (
        "X",
        (
            "observedImageOccurrences",
            [{"originalIndex": n, "normalizedTextOffset": 0, "sourceUrl": "https://e.org/"} for n in range(257)],
        ),
    ),
]


@pytest.mark.requirement("2.6-03")
@pytest.mark.parametrize(("platform", "change"), REFUSED, ids=named)
async def test_what_the_wire_forbids_is_a_bad_request(platform: str, change: Change) -> None:
    """2.6-03: Observed text is sent for X, Substack and Wikipedia only."""
    with pytest.raises(ValidationError):
        read(OBSERVED, changed(platform, change))
    response = await Bench().mutate("post.registerObservedVersion", changed(platform, change))
    assert error(response)["code"] == "BAD_REQUEST"


@pytest.mark.requirement("2.13-06")
@pytest.mark.parametrize(
    ("text", "fine"),
    [("a" * 500_000, True), ("a" * 500_001, False), ("é" * 250_000, True), ("é" * 250_001, False)],
    ids=["ascii-fits", "ascii-too-long", "two-bytes-fit", "two-bytes-too-long"],
)
def test_the_length_of_a_text(text: str, fine: bool) -> None:
    """2.13-06: 500,000 chars/bytes limit."""
    post = post_on_x(observedContentText=text)
    body = json.dumps(post, ensure_ascii=False).encode()
    if fine:
        assert read(OBSERVED, body).observed_content_text == text
    else:
        with pytest.raises(ValidationError):
            read(OBSERVED, body)


def test_values_are_kept_in_one_form() -> None:
    body = changed("X", ("url", " https://x.com/a/status/1 "), ("metadata.postedAt", "2026-01-02T03:04Z"))
    seen = read(OBSERVED, body)
    assert seen.url == "https://x.com/a/status/1"
    assert seen.metadata.posted_at == "2026-01-02T03:04:00.000Z"


@pytest.mark.requirement("2.13-09")
@pytest.mark.parametrize(("count", "fine"), [(0, False), (1, True), (100, True), (101, False)])
def test_the_size_of_a_batch(count: int, fine: bool) -> None:
    """2.13-09: A batch of statuses has 1 to 100 posts."""
    question = {"posts": [{"platform": "X", "externalId": "1", "versionHash": "A" * 64}] * count}
    shape = TypeAdapter(BatchQuestion)
    if fine:
        assert len(read(shape, json.dumps(question).encode()).posts) == count
    else:
        with pytest.raises(ValidationError):
            read(shape, json.dumps(question).encode())


@pytest.mark.parametrize("version_hash", ["", "a" * 63, "a" * 65, "g" * 64, "a" * 64 + "\n"])
async def test_a_version_hash_is_64_hex_digits(version_hash: str) -> None:
    question = {"posts": [{"platform": "X", "externalId": "1", "versionHash": version_hash}]}
    assert (await Bench().query("post.batchStatus", question)).status_code == 400


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("input=%7B%22investigationId%22%3A%22a+b%C3%A9%22%7D", 200),
        ("batch=1&input=%7B%22investigationId%22%3A%221%22%7D&input=x", 200),
        ("input=%7B%22investigationId%22%3A%22%ff%22%7D", 400),
        ("input=%ED%A0%80", 400),
        ("input=", 400),
        ("inputs=%7B%22investigationId%22%3A%221%22%7D", 400),
        ("", 400),
    ],
)
async def test_the_input_of_a_query_is_read_from_its_address(query: str, status: int) -> None:
    assert (await Bench().http.get(f"/trpc/post.getInvestigation?{query}")).status_code == status


@pytest.mark.parametrize(
    "body", ['{"postVersionId":""}', "{}", '{"postVersionId":null}', '{"postVersionId":"a","b":1}']
)
@pytest.mark.parametrize("procedure", ["post.recordViewAndGetStatus", "post.investigateNow"])
async def test_a_version_id_is_a_text_and_nothing_else(procedure: str, body: str) -> None:
    assert (await Bench().mutate(procedure, body.encode())).status_code == 400


async def test_the_message_of_a_refusal_is_short_and_quotes_nothing() -> None:
    body = json.dumps({f"stranger{n}" * 50: "<script>secret" for n in range(500)}).encode()
    response = await Bench().mutate("post.recordViewAndGetStatus", body)
    message = response.json()["error"]["message"]
    assert isinstance(json.loads(message), list)
    assert len(message) < 5_000
    assert "secret" not in message


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
anything = st.binary() | json_values.map(lambda value: json.dumps(value).encode())
PROCEDURES = ["registerObservedVersion", "recordViewAndGetStatus", "investigateNow", "getInvestigation", "batchStatus"]


@given(procedure=st.sampled_from(PROCEDURES), body=anything)
async def test_no_body_makes_the_gateway_fail(procedure: str, body: bytes) -> None:
    bench = Bench()
    sent = await bench.mutate(f"post.{procedure}", body)
    asked = await bench.http.get(f"/trpc/post.{procedure}", params={"input": body.decode("latin-1")})
    assert {sent.status_code, asked.status_code} <= {200, 400, 401, 405}


@given(
    platform=st.sampled_from(list(POSTS)),
    path=st.sampled_from(["url", "externalId", "observedContentText", "metadata", "observedImageUrls"]),
    value=json_values,
)
async def test_no_single_field_makes_the_gateway_fail(platform: str, path: str, value: object) -> None:
    response = await Bench().mutate("post.registerObservedVersion", changed(platform, (path, value)))
    assert response.status_code in (200, 400)
    if response.status_code == 200:
        data("post.registerObservedVersion", response)


@given(text=st.text(alphabet='\\u0" a', max_size=30))
def test_only_a_real_nul_is_refused(text: str) -> None:
    body = json.dumps({**post_on_x(), "observedContentText": f"{text}x"}).encode()
    assert read(OBSERVED, body).observed_content_text == f"{text}x"
    with pytest.raises(ValidationError):
        read(OBSERVED, json.dumps({**post_on_x(), "observedContentText": f"{text}\0"}).encode())


@pytest.mark.parametrize(
    ("shape", "body", "path"),
    [
        (TypeAdapter(BatchQuestion), {"posts": []}, "posts"),
        (OBSERVED, post_on_x(), "observedImageOccurrences"),
        (OBSERVED, post_on_x(), "observedImageUrls"),
        (OBSERVED, post_on_x(), "metadata.mediaUrls"),
        (TypeAdapter(AppealRequest), {"investigation_id": "", "kind": "FALSE_FLAG", "text": "words"}, "claim_ids"),
        (TypeAdapter(AppealRequest), {"investigation_id": "", "kind": "FALSE_FLAG", "text": "words"}, "links"),
    ],
)
def test_a_list_is_read_as_far_as_its_first_error(shape: TypeAdapter[Any], body: dict[str, Any], path: str) -> None:
    """Each error takes a hundred times as long as the two bytes of its item."""
    *steps, last = path.split(".")
    at = body = copy.deepcopy(body)
    for step in steps:
        at = at[step]
    faults = []
    for at[last] in ([1], [1] * 10_000):
        with pytest.raises(ValidationError) as refused:
            read(shape, json.dumps(body).encode())
        faults.append(refused.value.error_count())
    assert faults[0] == faults[1]


def test_the_schemes_of_forty_thousand_pictures_are_read_without_parsing_each() -> None:
    """Of one observation; to parse each took two thirds of a quarter of a second in the event loop."""
    urls = ["http://a"] * 40_000
    body = json.dumps(urls).encode()
    checked_s = cpu_s(lambda: [ada_url.check_url(url) for url in urls], tries=4)
    most_s = 4 * checked_s
    assert cpu_s(lambda: TypeAdapter(WebPictures).validate_json(body), tries=4, below_s=most_s) < most_s


@settings(max_examples=500)
@example(url="ht\ttp://a")
@example(url="\x01http://a")
@example(url="HTTPS:a")
@given(
    url=st.lists(st.sampled_from([*"\t\n\r \0\x01:/@?#+-.1ap\u212a", "http", "HTTPS", "htt", "//", "blob:"])).map(
        "".join
    )
)
def test_a_scheme_is_what_the_parser_says_it_is(url: str) -> None:
    if ada_url.check_url(url):
        assert is_web_url(url) is (ada_url.URL(url).protocol in ("http:", "https:"))


async def test_errors_without_number_are_counted_and_not_described() -> None:
    def name(keys: int) -> bytes:
        return json.dumps({f"key{number}": 1 for number in range(keys)}).encode()

    few, many = [
        json.loads((await Bench().mutate("post.recordViewAndGetStatus", name(keys))).json()["error"]["message"])
        for keys in (MAX_ERRORS - 1, MAX_ERRORS)
    ]
    assert len(few) == ISSUES_SHOWN
    assert many == [{"path": [], "message": f"There are {MAX_ERRORS + 1} errors in it"}]
    with pytest.raises(Refusal, match="errors in it"):
        parse(AppealRequest, name(MAX_ERRORS))
    with pytest.raises(ValidationError) as invalid:
        TypeAdapter(BatchQuestion).validate_json(name(MAX_ERRORS))
    assert from_validation(invalid.value).details == {"issues": [{**many[0], "path": ""}]}
