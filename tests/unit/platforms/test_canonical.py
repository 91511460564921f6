"""What each site is asked and what its answers mean."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from platforms import get_platform
from platforms.base import CanonicalMismatch, CanonicalRequest, SiteAnswer, Steps
from tests.support.factories import NOW
from tests.unit.platforms.samples import SAMPLES

WIKIPEDIA_ANSWER = {"parse": {"title": "Green tea", "pageid": 77, "revid": 1234, "text": "<p>Tea</p>"}}
LESSWRONG_ANSWER = {"data": {"post": {"result": {"_id": "tea42", "contents": {"html": "<p>Tea</p>"}}}}}
SUBSTACK_ANSWER = {"id": 555, "slug": "green", "audience": "everyone", "body_html": "<p>Tea</p>"}


def parse(name: str, answer: Any) -> Any:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return get_platform(name).parse_canonical(SAMPLES[name].observation(), body)


@pytest.mark.requirement("2.9-02")
def test_wikipedia_is_asked_for_the_revision_seen() -> None:
    """2.9-02: Wikipedia verification pinned to revision."""
    request = get_platform("WIKIPEDIA").canonical_request(SAMPLES["WIKIPEDIA"].observation())
    assert request is not None
    assert request.method == "GET"
    assert request.immutable
    parts = urlsplit(request.url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "en.wikipedia.org", "/w/api.php")
    assert parse_qs(parts.query) == {
        "action": ["parse"],
        "format": ["json"],
        "formatversion": ["2"],
        "prop": ["text|revid|displaytitle"],
        "oldid": ["1234"],
    }


@pytest.mark.requirement("2.9-01")
def test_lesswrong_is_asked_by_id() -> None:
    """2.9-01: LessWrong server verification."""
    request = get_platform("LESSWRONG").canonical_request(SAMPLES["LESSWRONG"].observation())
    assert request is not None
    assert request.body is not None
    assert (request.method, request.url) == ("POST", "https://www.lesswrong.com/graphql")
    assert dict(request.headers)["content-type"] == "application/json"
    document = json.loads(request.body)
    assert document["variables"] == {"id": "tea42"}
    assert "contents { html }" in document["query"]


@pytest.mark.requirement("2.9-03")
def test_substack_is_asked_under_its_own_domain() -> None:
    """2.9-03: Substack verification."""
    sample = SAMPLES["SUBSTACK"]._replace(url="https://tea.example/p/green")
    request = get_platform("SUBSTACK").canonical_request(sample.observation(slug="green tea/../x"))
    assert request is not None
    assert request.url == "https://leaves.substack.com/api/v1/posts/green%20tea%2F..%2Fx"


def test_x_is_not_asked() -> None:
    site = get_platform("X")
    assert site.default_endpoint is None
    assert site.canonical_request(SAMPLES["X"].observation()) is None
    with pytest.raises(CanonicalMismatch):
        site.parse_canonical(SAMPLES["X"].observation(), b"{}")


def test_equal_observations_ask_equally() -> None:
    for name, sample in SAMPLES.items():
        first, second = (get_platform(name).canonical_request(sample.observation()) for _ in range(2))
        assert first == second
        assert hash(first) == hash(second)


@pytest.mark.parametrize(
    ("name", "endpoint", "start"),
    [
        ("WIKIPEDIA", "http://127.0.0.1:9/{language}/api", "http://127.0.0.1:9/en/api?"),
        ("LESSWRONG", "http://127.0.0.1:9/graphql", "http://127.0.0.1:9/graphql"),
        ("SUBSTACK", "http://127.0.0.1:9", "http://127.0.0.1:9/api/v1/posts/green"),
    ],
)
def test_the_endpoint_can_be_replaced(name: str, endpoint: str, start: str) -> None:
    request = get_platform(name).canonical_request(SAMPLES[name].observation(), endpoint)
    assert request is not None
    assert request.url.startswith(start)


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("WIKIPEDIA", {"revision_id": "1&x=2"}),
        ("SUBSTACK", {"publication_subdomain": "evil.example/"}),
        ("SUBSTACK", {"slug": None}),
    ],
)
def test_nothing_unchecked_reaches_a_request(name: str, metadata: dict[str, Any]) -> None:
    assert get_platform(name).canonical_request(SAMPLES[name].observation(**metadata)) is None


def test_a_strange_language_reaches_no_host() -> None:
    sample = SAMPLES["WIKIPEDIA"]._replace(external_id="evil.example/:77")
    assert get_platform("WIKIPEDIA").canonical_request(sample.observation()) is None


@pytest.mark.parametrize(
    ("name", "answer"),
    [("WIKIPEDIA", WIKIPEDIA_ANSWER), ("LESSWRONG", LESSWRONG_ANSWER), ("SUBSTACK", SUBSTACK_ANSWER)],
)
def test_a_good_answer_is_read(name: str, answer: Any) -> None:
    page = parse(name, answer)
    assert page.html == "<p>Tea</p>"
    assert page.post.external_id == SAMPLES[name].external_id
    assert page.revision_id == ("1234" if name == "WIKIPEDIA" else None)


@pytest.mark.requirement("2.9-04")
def test_the_site_states_the_identity() -> None:
    """2.9-04: Identity correction by server pageId."""
    assert parse("WIKIPEDIA", {"parse": {**WIKIPEDIA_ANSWER["parse"], "pageid": "78"}}).post.external_id == "en:78"
    assert parse("SUBSTACK", {**SUBSTACK_ANSWER, "id": 556}).post.external_id == "556"
    other = {"data": {"post": {"result": {"_id": "other", "contents": {"html": "<p>x</p>"}}}}}
    assert parse("LESSWRONG", other).post.external_id == "other"


ASKED = ("WIKIPEDIA", "LESSWRONG", "SUBSTACK")
NO_ANSWERS: tuple[Any, ...] = (b"<html>", b"\xff", [], {}, None)
BAD_ANSWERS: list[tuple[str, Any, str]] = [
    *((name, body, "bad_answer") for name in ASKED for body in NO_ANSWERS),
    *(("WIKIPEDIA", {"error": {"code": code}}, "not_found") for code in ("missingtitle", "badinteger")),
    *(("WIKIPEDIA", {"error": {"code": code}}, "bad_answer") for code in ("internal_api_error_DBQueryError", "new", 5)),
    ("WIKIPEDIA", {"error": {"code": "permissiondenied"}}, "not_public"),
    ("LESSWRONG", {"data": {"post": {"result": None}}}, "not_found"),
    ("LESSWRONG", {"data": None, "errors": [{"message": "app.missing_document"}]}, "not_found"),
    ("LESSWRONG", {"data": {"post": None}, "errors": [{"message": "app.operation_not_allowed"}]}, "not_public"),
    ("LESSWRONG", {"data": {"post": None}, "errors": [{"message": "timeout of the database"}]}, "bad_answer"),
    ("LESSWRONG", {"data": {"post": {"result": {"contents": None}}}}, "no_text"),
    ("LESSWRONG", {"data": {"post": {"result": {"_id": "tea42"}}}}, "bad_answer"),
    ("WIKIPEDIA", {"error": {"code": "nosuchrevid"}}, "not_found"),
    ("WIKIPEDIA", {"error": {"code": "ratelimited"}}, "bad_answer"),
    ("WIKIPEDIA", {"parse": {**WIKIPEDIA_ANSWER["parse"], "text": {"*": "x"}}}, "bad_answer"),
    ("WIKIPEDIA", {"parse": {**WIKIPEDIA_ANSWER["parse"], "pageid": True}}, "bad_answer"),
    ("WIKIPEDIA", {"parse": {**WIKIPEDIA_ANSWER["parse"], "revid": 1235}}, "other_revision"),
    ("LESSWRONG", {"data": {"post": {"result": None}}, "errors": [{}]}, "bad_answer"),
    ("LESSWRONG", {"data": {"post": {"result": {"contents": {"html": ""}}}}}, "no_text"),
    ("SUBSTACK", {**SUBSTACK_ANSWER, "body_html": None}, "no_text"),
    ("SUBSTACK", {**SUBSTACK_ANSWER, "body_html": None, "audience": "only_paid"}, "not_public"),
    ("SUBSTACK", {**SUBSTACK_ANSWER, "body_html": 5}, "bad_answer"),
    ("SUBSTACK", {**SUBSTACK_ANSWER, "id": "555"}, "bad_answer"),
    ("SUBSTACK", {**SUBSTACK_ANSWER, "audience": "only_paid"}, "not_public"),
]


@pytest.mark.parametrize(("name", "answer", "reason"), BAD_ANSWERS)
def test_other_answers_are_refused(name: str, answer: Any, reason: str) -> None:
    with pytest.raises(CanonicalMismatch) as refusal:
        parse(name, answer)
    assert refusal.value.reason == reason
    assert str(refusal.value)


@pytest.mark.parametrize(
    ("name", "answer", "broken"),
    [
        ("WIKIPEDIA", b"<html>maintenance</html>", True),
        ("WIKIPEDIA", {"error": {"code": "maxlag"}}, True),
        ("WIKIPEDIA", {"error": {"code": "nosuchrevid"}}, False),
        ("WIKIPEDIA", {"error": {"code": "badinteger"}}, False),
        ("LESSWRONG", b"", True),
        ("LESSWRONG", {"errors": [{"message": "no"}]}, False),
        ("SUBSTACK", b"<html>", True),
        ("SUBSTACK", {}, False),
    ],
)
def test_only_what_no_question_can_cause_speaks_against_a_site(name: str, answer: Any, broken: bool) -> None:
    with pytest.raises(CanonicalMismatch) as refusal:
        parse(name, answer)
    assert refusal.value.broken == broken


@pytest.mark.requirement("2.9-04", "3.2-13")
def test_the_site_says_where_the_post_is_what_it_is_called_and_whose_it_is() -> None:
    """2.9-04: Identity correction by server pageId.
    3.2-13: The votes of a LessWrong post are kept.
    """
    page = parse("WIKIPEDIA", WIKIPEDIA_ANSWER)
    assert page.url == "https://en.wikipedia.org/wiki/Green_tea"
    assert page.metadata == {
        "language": "en",
        "page_id": "77",
        "revision_id": "1234",
        "title": "Green_tea",
        "display_title": None,
    }
    result = {
        **LESSWRONG_ANSWER["data"]["post"]["result"],
        "title": "Tea",
        "slug": "on-tea",
        "baseScore": 7,
        "user": {"displayName": "Bea", "slug": "bea"},
    }
    page = parse("LESSWRONG", {"data": {"post": {"result": result}}})
    assert page.url == "https://www.lesswrong.com/posts/tea42/on-tea"
    assert page.metadata == {
        "title": "Tea",
        "slug": "on-tea",
        "karma": 7,
        "author_name": "Bea",
        "author_slug": "bea",
    }
    answer = {
        **SUBSTACK_ANSWER,
        "title": "Tea",
        "canonical_url": "https://tea.example/p/green",
        "publishedBylines": [{"name": "Bea", "handle": "bea"}, {"name": "Cid"}],
    }
    page = parse("SUBSTACK", answer)
    assert page.url == "https://tea.example/p/green"
    assert page.metadata == {
        "substack_post_id": "555",
        "publication_subdomain": "leaves",
        "slug": "green",
        "title": "Tea",
        "subtitle": None,
        "author_name": "Bea",
        "author_substack_handle": "bea",
    }


def test_a_post_that_nobody_signed_is_nobody_elses() -> None:
    page = parse("LESSWRONG", LESSWRONG_ANSWER)
    assert page.metadata["author_name"] is None
    assert page.metadata["author_slug"] is None
    page = parse("SUBSTACK", {**SUBSTACK_ANSWER, "publishedBylines": []})
    assert page.metadata["author_name"] == "leaves"
    assert page.metadata["author_substack_handle"] is None


@pytest.mark.parametrize(
    "stated",
    [None, 1, "", "javascript:alert(1)", "http://10.0.0.1/p/green", "https://10.0.0.1/p/green", "https://tea.example/",
     "https://u:p@tea.example/p/green", "http://tea.example/p/green", "https://en.wikipedia.org/p/green"],
)  # fmt: skip
def test_an_address_that_cannot_be_is_replaced_by_substacks_own(stated: Any) -> None:
    assert parse("SUBSTACK", {**SUBSTACK_ANSWER, "canonical_url": stated}).url == "https://leaves.substack.com/p/green"


@pytest.mark.parametrize(
    ("url", "publication", "kept"),
    [
        ("https://leaves.substack.com/p/green?utm=1#x", "leaves", "https://leaves.substack.com/p/green?utm=1"),
        ("https://evil.example/p/green", "leaves", "https://leaves.substack.com/p/green"),
        ("https://evil.example/p/green", "no host name", "https://substack.com/home/post/p-555"),
    ],
)
def test_a_domain_counts_only_where_substack_says_so(url: str, publication: str, kept: str) -> None:
    sample = SAMPLES["SUBSTACK"]._replace(url=url)
    observed = sample.observation(publication_subdomain=publication).model_copy(update={"url": url})
    assert get_platform("SUBSTACK").address(observed) == kept


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<i>Green</i> tea", "Green tea"),
        ('<span class="mw-page-title-main">H<sub>2</sub>O</span>', "H2O"),
        ("<svg><sup>2</sup></svg>", None),
        ("x" * 1_001, None),
        ("<b>" * 3_000 + "x", None),
        ("<script>only this</script>", None),
        (["Green tea"], None),
        (None, None),
    ],
)
def test_an_article_is_called_what_wikipedia_calls_it(html: Any, text: str | None) -> None:
    page = parse("WIKIPEDIA", {"parse": {**WIKIPEDIA_ANSWER["parse"], "displaytitle": html}})
    assert page.metadata["display_title"] == text


OWN: list[tuple[str, str, bool]] = [
    ("LESSWRONG", "https://www.lesswrong.com/graphql", True),
    ("LESSWRONG", "https://lesswrong.com/graphql", True),
    ("LESSWRONG", "http://www.lesswrong.com/graphql", False),
    ("LESSWRONG", "https://www.lesswrong.com:8443/graphql", False),
    ("LESSWRONG", "https://lesswrong.com.evil.example/graphql", False),
    ("WIKIPEDIA", "https://be-tarask.wikipedia.org/w/api.php", True),
    ("WIKIPEDIA", "https://wikipedia.org.evil.example/w/api.php", False),
    ("WIKIPEDIA", "https://evilwikipedia.org/w/api.php", False),
    ("SUBSTACK", "https://leaves.substack.com/api/v1/posts/green", True),
    ("SUBSTACK", "https://substack.com/api/v1/posts/green", True),
    ("SUBSTACK", "https://tea.example/api/v1/posts/green", False),
    ("SUBSTACK", "no address", False),
    ("X", "https://x.com/", False),
]


@pytest.mark.parametrize(("name", "url", "own"), OWN)
def test_a_site_answers_under_its_own_names_only(name: str, url: str, own: bool) -> None:
    assert get_platform(name).is_own(url) is own


@pytest.mark.parametrize("name", ["BLUESKY", "LESSWRONG", "WIKIPEDIA", "X"])
def test_an_answer_from_elsewhere_cannot_be_confirmed(name: str) -> None:
    assert not get_platform(name).confirms_elsewhere


def step_elsewhere(endpoint: str | None = None) -> tuple[Steps, CanonicalRequest]:
    """Let the publication's own domain answer, and give what is requested then."""
    site = get_platform("SUBSTACK")
    assert site.confirms_elsewhere
    steps = site.steps(SAMPLES["SUBSTACK"].observation(), {} if endpoint is None else {"SUBSTACK": endpoint})
    assert steps is not None
    next(steps)
    body, at = json.dumps(SUBSTACK_ANSWER).encode(), "https://tea.example/api/v1/posts/green"
    return steps, steps.send(SiteAnswer(200, body, NOW, elsewhere=at))


@pytest.mark.parametrize(
    ("endpoint", "start"),
    [
        (None, "https://substack.com/"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/"),
        ("https://{publication}.substack.test", "https://substack.test/"),
    ],
)
def test_substack_itself_is_asked_about_a_number(endpoint: str | None, start: str) -> None:
    _, request = step_elsewhere(endpoint)
    assert request.url == f"{start}api/v1/posts/by-id/555"


CONFIRMED: dict[str, Any] = {**SUBSTACK_ANSWER, "canonical_url": "https://www.tea.example/p/green"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"post": CONFIRMED, "publication": {"subdomain": "leaves"}}, None),
        ({"post": CONFIRMED}, None),
        (CONFIRMED, None),
        ({"post": {**CONFIRMED, "canonical_url": "https://leaves.substack.com/p/green"}}, None),
        ({"post": CONFIRMED, "publication": {"subdomain": "roots"}}, "other_publication"),
        ({"post": {**CONFIRMED, "publication": {"subdomain": "roots"}}}, "other_publication"),
        ({"post": {**CONFIRMED, "canonical_url": "https://roots.example/p/green"}}, "other_publication"),
        ({"post": {**CONFIRMED, "canonical_url": "https://roots.substack.com/p/green"}}, "other_publication"),
        ({"post": {**CONFIRMED, "audience": "only_paid"}}, "not_public"),
        ({"post": None}, "bad_answer"),
        ({}, "bad_answer"),
    ],
)
def test_substack_itself_places_a_post_in_its_publication(document: Any, reason: str | None) -> None:
    steps, _ = step_elsewhere()
    answer = SiteAnswer(200, json.dumps(document).encode(), NOW)
    if reason is None:
        with pytest.raises(StopIteration) as end:
            steps.send(answer)
        assert end.value.value.post.external_id == "555"
        return
    with pytest.raises(CanonicalMismatch) as refusal:
        steps.send(answer)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("name", "url", "kept"),
    [
        ("LESSWRONG", "https://www.lesswrong.com/posts/tea42/x-is-a-liar?y=1", "https://www.lesswrong.com/posts/tea42"),
        ("WIKIPEDIA", "https://en.wikipedia.org/wiki/Green_tea?x=y", "https://en.wikipedia.org/?curid=77"),
        ("WIKIPEDIA", "https://en.m.wikipedia.org/w/index.php?curid=77&z", "https://en.m.wikipedia.org/?curid=77"),
    ],
)
def test_an_unconfirmed_address_holds_no_words_of_a_reader(name: str, url: str, kept: str) -> None:
    assert get_platform(name).address(SAMPLES[name]._replace(url=url).observation()) == kept
