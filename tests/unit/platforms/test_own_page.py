"""Where an author can publish a token: only the address of a page that can be theirs is taken."""

from __future__ import annotations

from uuid import uuid4

import pytest

from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from platforms import PLATFORMS, get_platform, has_proof_place, name_prover
from platforms.base import IdentityMismatch, Metadata

COMMENT = "qT8fXcv5rN2kPzYwE"
DID = "did:plc:abcdefghijklmnopqrstuvwx"
OTHER = "did:plc:zzzzzzzzzzzzzzzzzzzzzzzz"
PANES: Metadata = {"publication_subdomain": "panes", "slug": "old", "substack_post_id": "9"}
GOOD = [
    ("LESSWRONG", "https://www.lesswrong.com/posts/aB3dE5", "ada", "aB3dE5"),
    ("LESSWRONG", "https://www.lesswrong.com/posts/aB3dE5/caf%C3%A9", "ada", "aB3dE5"),
    ("LESSWRONG", "https://www.lesswrong.com/posts/aB3dE5/panes#Melting", "ada", "aB3dE5"),
    ("LESSWRONG", f"https://www.lesswrong.com/posts/aB3dE5/panes?commentId={COMMENT}", "ada", f"comment/{COMMENT}"),
    ("LESSWRONG", f"https://lesswrong.com/posts/aB3dE5/panes#{COMMENT}", "ada", f"comment/{COMMENT}"),
    ("LESSWRONG", "https://www.lesswrong.com/users/ada", "ada", "user/ada"),
    ("LESSWRONG", "https://www.lesswrong.com/users/ad%C3%A0/?from=x", "adà", "user/adà"),
    ("BLUESKY", f"https://bsky.app/profile/{DID}/post/3kqk5yj2l2c2a", DID, f"{DID}/3kqk5yj2l2c2a"),
    ("BLUESKY", "https://bsky.app/profile/ada.example/post/3kqk5yj2l2c2a", DID, f"{DID}/3kqk5yj2l2c2a"),
    ("SUBSTACK", "https://panes.substack.com/p/new", "ada", "9"),
    ("SUBSTACK", "https://www.panes.example/p/new", "ada", "9"),
]
WIKI = "https://en.wikipedia.org"
ARTICLE: Metadata = {"language": "en", "page_id": "12", "revision_id": "456"}
EDITS = [
    f"{WIKI}/w/index.php?title=User:Ada&diff=789&oldid=700",
    f"{WIKI}/w/index.php?title=User:Ada&diff=prev&oldid=789",
    f"{WIKI}/w/index.php?title=User:Ada&oldid=789",
    f"{WIKI}/w/index.php?diff=789",
    f"{WIKI}/wiki/User:Ada?oldid=789",
    f"{WIKI}/wiki/Special:Diff/789",
    f"{WIKI}/wiki/Special:Diff/700/789",
    f"{WIKI}/wiki/Special:PermanentLink/789",
    "https://en.m.wikipedia.org/wiki/Special:diff/789#footer",
]
BAD = [
    ("LESSWRONG", "https://www.lesswrong.com/users/mallory", "ada", "the author is 'ada', the URL says 'mallory'"),
    ("LESSWRONG", "https://www.lesswrong.com/users/Ada", "ada", "the author is 'ada', the URL says 'Ada'"),
    ("LESSWRONG", "https://www.lesswrong.com/users/name%3Aada", "name:ada", "several may have this name"),
    ("LESSWRONG", "https://lesswrong.example/users/ada", "ada", "not that of a LessWrong post"),
    ("LESSWRONG", "https://www.lesswrong.com:444/users/ada", "ada", "other than its scheme's default"),
    ("LESSWRONG", f"https://lesswrong.example/posts/aB3dE5/panes#{COMMENT}", "ada", "not that of a LessWrong post"),
    ("LESSWRONG", f"https://www.lesswrong.com/about?commentId={COMMENT}", "ada", "not that of a LessWrong post"),
    ("LESSWRONG", "https://lesswrong.example/posts/aB3dE5", "ada", "not that of a LessWrong post"),
    ("LESSWRONG", "https://www.lesswrong.com/posts/aB3dE5", "name:ada", "several may have this name"),
    ("BLUESKY", f"https://bsky.app/profile/{DID}", DID, "no"),
    ("BLUESKY", f"https://bsky.app/profile/{OTHER}/post/3kqk5yj2l2c2a", DID, f"the URL says '{OTHER}'"),
    ("SUBSTACK", "https://other.substack.com/p/new", "ada", "publication"),
    ("SUBSTACK", "https://panes.substack.com/about", "ada", "not that of a Substack post"),
    ("SUBSTACK", "http://127.0.0.1/p/new", "ada", "URL"),
    ("WIKIPEDIA", f"{WIKI}/wiki/A", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", f"{WIKI}/w/index.php?title=A&diff=cur&oldid=789", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", f"{WIKI}/w/index.php?title=A&diff=789x", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", f"{WIKI}/wiki/Special:Diff/789/cur", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", f"{WIKI}/w/api.php?oldid=789", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", "https://en.wikipedia.example/wiki/A?oldid=789", "en:9@456", "not that of an edit"),
    ("WIKIPEDIA", "https://de.wikipedia.org/wiki/A?oldid=789", "en:9@456", "the language is 'en', the URL says 'de'"),
    ("X", "https://x.com/ada/status/1", "ada", "no place"),
]


@pytest.mark.parametrize(("platform", "url", "author", "external_id"), GOOD)
def test_the_address_of_a_page_that_can_be_theirs(platform: str, url: str, author: str, external_id: str) -> None:
    site = get_platform(platform)
    known = PostRef(platform=platform, external_id="9")
    post, metadata = site.own_page(url, author, known, PANES)
    assert post == PostRef(platform=platform, external_id=external_id)
    seen = Observation(observation_id=uuid4(), post=post, url=url, metadata=dict(metadata))
    request = site.canonical_request(seen)
    assert request is not None
    if platform == "SUBSTACK":
        assert request.url == "https://panes.substack.com/api/v1/posts/new"


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize(("platform", "url", "author", "why"), BAD)
def test_any_other_address_is_refused(platform: str, url: str, author: str, why: str) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    with pytest.raises(IdentityMismatch, match=why):
        known = PostRef(platform=platform, external_id="en:9" if platform == "WIKIPEDIA" else "9")
        get_platform(platform).own_page(url, author, known, PANES)


@pytest.mark.parametrize("url", EDITS)
def test_the_address_of_an_edit(url: str) -> None:
    site, article = get_platform("WIKIPEDIA"), PostRef(platform="WIKIPEDIA", external_id="en:12")
    owner = site.required_owner(None, article, ARTICLE)
    assert owner == "en:12@456"
    assert site.own_page(url, owner, article, ARTICLE)[0].external_id == "en:12@456/789"
    with pytest.raises(IdentityMismatch):
        site.check(url, "en:12@456/789", {**ARTICLE, "page_id": "12@456/789", "title": "A"})
    assert site.required_owner(None, article, {}) is None


def test_the_author_of_a_post_is_who_the_site_names() -> None:
    post = PostRef(platform="LESSWRONG", external_id="aB3dE5")
    assert get_platform("LESSWRONG").required_owner("ada", post, {}) == "ada"
    assert get_platform("LESSWRONG").required_owner(None, post, {}) is None


@pytest.mark.parametrize(
    ("summary", "word"),
    [
        ("token-1", "token-1"),
        ("/* Panes */ token-1", "token-1"),
        ("/* token-1 */", ""),
        ("/* token-1 */ Reply", ""),
        ("/* A */ token-1 */ Reply", ""),
        ("/* A */ token-1 */", ""),
        ("Undid revision 5 by [[Special:Contributions/A token-1|A token-1]]", ""),
        ("撤销[[Special:Contribs/token-1|token-1]]的版本", ""),
        ("see token-1", ""),
        ("", ""),
    ],
)
def test_only_a_summary_of_one_word_is_in_its_accounts_words(summary: str, word: str) -> None:
    assert get_platform("WIKIPEDIA").own_words(f"<p>{summary}</p>") == word


@pytest.mark.parametrize("external_id", [f"comment/{COMMENT}", "user/ada"])
def test_no_reader_can_pass_off_another_page_as_a_post(external_id: str) -> None:
    for url in (f"https://www.lesswrong.com/posts/{external_id}", f"https://www.lesswrong.com/{external_id}"):
        with pytest.raises(IdentityMismatch):
            get_platform("LESSWRONG").check(url, external_id, {"slug": external_id.partition("/")[2]})


def test_what_a_page_quotes_is_not_in_its_authors_words() -> None:
    html = "<p>No.</p><blockquote><p>Say <b>it</b></p><blockquote>now</blockquote></blockquote><p>So it is.</p>"
    for name in ("LESSWRONG", "SUBSTACK", "BLUESKY"):
        assert get_platform(name).own_words(html) == "No. So it is."


def test_authors_can_prove_themselves_on_these_sites() -> None:
    of_sites = {site.name: name_prover(site.name) for site in PLATFORMS if has_proof_place(site.name)}
    authors = dict.fromkeys(("LESSWRONG", "SUBSTACK", "BLUESKY"), "author")
    assert of_sites == {**authors, "WIKIPEDIA": "contributor"}
    assert not has_proof_place("GEOCITIES")
    assert name_prover("GEOCITIES") == "author"
