"""Links to a post that people share lead to the part that all its addresses have."""

from __future__ import annotations

import pytest

from platforms import find_permalink

SHARED = (
    ("https://x.com/walker/status/17?s=46&t=abc", "/status/17"),
    ("  https://mobile.twitter.com/walker/status/17/photo/1 ", "/status/17"),
    ("x.com/i/web/status/17", "/status/17"),
    ("https://www.lesswrong.com/posts/aB3/a-slug?commentId=x#y", "/posts/aB3"),
    ("https://walks.substack.com/p/a-walk?r=1x&utm_medium=web", "walks.substack.com/p/a-walk"),
    ("https://open.substack.com/pub/walks/p/a-walk?r=1x", "walks.substack.com/p/a-walk"),
    ("https://de.m.wikipedia.org/wiki/Straße#Wort", "de.wikipedia.org/wiki/Stra%C3%9Fe"),
    ("https://de.wikipedia.org/w/index.php?title=Stra%C3%9Fe&oldid=5", "de.wikipedia.org/wiki/Stra%C3%9Fe"),
    ("https://de.wikipedia.org/?curid=7", "de.wikipedia.org/?curid=7"),
    ("https://bsky.app/profile/ann.example.com/post/3l6o?ref=1", "/post/3l6o"),
)


@pytest.mark.parametrize(("link", "part"), SHARED)
def test_a_shared_link_leads_to_what_all_addresses_of_its_post_have(link: str, part: str) -> None:
    assert find_permalink(link) == part


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "x.com", "3/4", "tea", "see https://x.com/a/status/1", "https://x.com.evil.example/a/status/1",
        "https://netx.com/a/status/1", "ftp://x.com/a/status/1", "https://x.com/home", "https://lesswrong.com/tag/tea",
        "https://de.wikipedia.org/wiki/Talk:Tea", "https://walks.example/p/a-walk", "https://substack.com/home",
        "https://[", "https://bsky.app/profile/ann.example.com", "https://u:p@x.com/a/status/1",
    ],
)  # fmt: skip
def test_other_text_is_searched_as_it_is(text: str) -> None:
    assert find_permalink(text) is None
