"""An observation whose URL names another page than its metadata is refused."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from platforms import get_platform
from platforms.base import IdentityMismatch
from tests.unit.platforms.samples import SAMPLES

FOREIGN = [
    "javascript:alert(1)//https://en.wikipedia.org/wiki/Green_tea",
    "mailto:a@example.org",
    "data:text/html,x",
    "ftp://en.wikipedia.org/wiki/Green_tea",
    "https://user:secret@en.wikipedia.org/wiki/Green_tea",
    "https://leaves.substack.com@evil.example/p/green",
    "https://user@www.lesswrong.com/posts/tea42/on-tea",
    "https://x.com.evil.example/TeaFan/status/987",
    "https://evil-x.com/TeaFan/status/987",
    "https://en.wikipedia.org.evil.example/wiki/Green_tea",
    "https://notlesswrong.com/posts/tea42/on-tea",
    "https://substack.com/p/green",
    "http://localhost/p/green",
    "http://10.0.0.1/p/green",
    "http://0x0a000001/p/green",
    "http://[::1]/p/green",
    "http://printer.local/p/green",
    "https://en.wikipedia.org/p/green",
    "https://en.wikipedia.org:8443/wiki/Green_tea",
    "https://x.com:8443/TeaFan/status/987",
    "https://leaves.substack.com:8443/p/green",
    "//x.com/TeaFan/status/987",
    "green tea",
    "",
    "https://x.com\ud800/",
]
OTHER_PAGES = {
    "LESSWRONG": [
        "https://www.lesswrong.com/",
        "https://www.lesswrong.com/users/ann-lee",
        "https://lesswrong.com/posts/",
    ],
    "X": [
        "https://x.com/TeaFan",
        "https://x.com/TeaFan/status/",
        "https://x.com/TeaFan/status/98a",
        "https://x.com/i/987",
    ],
    "SUBSTACK": [
        "https://leaves.substack.com/",
        "https://leaves.substack.com/p/",
        "https://leaves.substack.com/archive",
    ],
    "WIKIPEDIA": ["https://en.wikipedia.org/", "https://en.wikipedia.org/wiki/Talk:Green_tea"],
}
CONTRADICTIONS: list[tuple[str, dict[str, str], dict[str, JsonValue]]] = [
    ("LESSWRONG", {"external_id": "other"}, {}),
    ("LESSWRONG", {}, {"slug": "other"}),
    ("X", {"external_id": "988"}, {}),
    ("X", {}, {"author_handle": "other"}),
    ("X", {}, {"author_handle": None}),
    ("SUBSTACK", {"external_id": "556"}, {}),
    ("SUBSTACK", {"url": "https://tea.example/p/green"}, {"publication_subdomain": "no host name"}),
    ("SUBSTACK", {"url": "https://tea.example/p/green"}, {"publication_subdomain": None}),
    ("SUBSTACK", {}, {"slug": "black"}),
    ("SUBSTACK", {}, {"publication_subdomain": "other"}),
    ("SUBSTACK", {}, {"substack_post_id": None}),
    ("WIKIPEDIA", {}, {"language": "de"}),
    ("WIKIPEDIA", {}, {"title": "Black tea"}),
    ("WIKIPEDIA", {}, {"title": " "}),
    ("WIKIPEDIA", {}, {"page_id": "seventy"}),
    ("WIKIPEDIA", {}, {"revision_id": ""}),
    ("WIKIPEDIA", {"url": "https://en.wikipedia.org/?curid=78"}, {}),
    ("WIKIPEDIA", {"url": "https://en.wikipedia.org/wiki/Green_tea?pageid=78"}, {}),
    ("WIKIPEDIA", {"external_id": "en:78"}, {}),
]
ACCEPTED: list[tuple[str, str, dict[str, JsonValue]]] = [
    ("LESSWRONG", "https://lesswrong.com/posts/tea42", {"slug": "tea42"}),
    ("LESSWRONG", "http://WWW.LessWrong.com/posts/tea42/on-tea?commentId=1#x", {}),
    ("X", "https://twitter.com/teafan/status/987/photo/1", {}),
    ("X", "https://mobile.twitter.com/i/web/status/987", {}),
    ("X", "https://x.com/i/status/987?s=20", {}),
    ("X", "https://x.com/home/status/987", {}),
    ("X", "https://x.com/Search/status/987", {}),
    ("SUBSTACK", "https://tea.example/p/green", {}),
    ("SUBSTACK", "https://Leaves.substack.com/p/green/comments", {}),
    ("SUBSTACK", "https://leaves.substack.com/p/th%C3%A9", {"slug": "thé"}),
    ("SUBSTACK", "https://leaves.substack.com/p/th%C3%A9", {"slug": "th%C3%A9"}),
    ("WIKIPEDIA", "https://en.m.wikipedia.org/wiki/Green%20tea", {"language": " EN "}),
    ("WIKIPEDIA", "https://en.wikipedia.org/w/index.php?curid=77", {"title": "Whatever"}),
    ("WIKIPEDIA", "https://de.wikipedia.org/wiki/Tee", {"language": "de", "title": "Tee"}),
]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("url", FOREIGN)
def test_urls_elsewhere_are_refused(name: str, url: str) -> None:
    sample = SAMPLES[name]
    with pytest.raises(IdentityMismatch):
        get_platform(name).check(url, sample.external_id, sample.metadata)


@pytest.mark.requirement("3.9-09")
@pytest.mark.parametrize(("name", "url"), [(name, url) for name, urls in OTHER_PAGES.items() for url in urls])
def test_pages_that_are_no_posts_are_refused(name: str, url: str) -> None:
    """3.9-09: Wikipedia namespace filter."""
    sample = SAMPLES[name]
    with pytest.raises(IdentityMismatch):
        get_platform(name).check(url, sample.external_id, sample.metadata)


@pytest.mark.parametrize(("name", "given", "metadata"), CONTRADICTIONS)
def test_contradictions_are_refused(name: str, given: dict[str, str], metadata: dict[str, JsonValue]) -> None:
    sample = SAMPLES[name]
    url, external_id = given.get("url", sample.url), given.get("external_id", sample.external_id)
    with pytest.raises(IdentityMismatch) as refusal:
        get_platform(name).check(url, external_id, {**sample.metadata, **metadata})
    assert refusal.value.reason


@pytest.mark.requirement("2.1-03", "3.9-12")
@pytest.mark.parametrize(("name", "url", "metadata"), ACCEPTED)
def test_other_spellings_of_the_same_post_are_accepted(name: str, url: str, metadata: dict[str, JsonValue]) -> None:
    """2.1-03: Substack posts supported, on domains of their own too.
    3.9-12: Wikipedia mobile host accepted.
    """
    sample = SAMPLES[name]
    external_id = None if name == "WIKIPEDIA" else sample.external_id
    get_platform(name).check(url, external_id, {**sample.metadata, **metadata})


def test_an_article_of_another_language_than_its_url_is_refused() -> None:
    sample = SAMPLES["WIKIPEDIA"]
    with pytest.raises(IdentityMismatch, match="language"):
        get_platform("WIKIPEDIA").check(sample.url, None, {**sample.metadata, "language": "de"})


def test_the_article_is_named_by_language_and_page() -> None:
    sample = SAMPLES["WIKIPEDIA"]
    post = get_platform("WIKIPEDIA").check(sample.url, None, sample.metadata)
    assert post.external_id == "en:77"
