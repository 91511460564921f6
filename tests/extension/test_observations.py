"""What a reader's browser sends of a page, as the server gets it, and nothing before the page is ready."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL, Post

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

CHECKING, WAITING = words("popupChecking"), words("popupNotInvestigated")
PICTURED = '<p>Two loaves.</p><img src="/loaf.png" alt="A loaf"><p>And <img src="https://img.example/b.png"> more.</p>'


async def observed(chromium: Reader, post: Post) -> dict[str, Any]:
    """The one observation of a post."""
    page = await chromium.open(post)
    await chromium.says(page, WAITING)
    (sent,) = (json.loads(one.body) for one in chromium.asked("post.registerObservedVersion") if post.url in one.body)
    body: dict[str, Any] = sent
    return body


@pytest.mark.requirement("3.9-01")
async def test_a_lesswrong_post_is_the_body_that_carries_the_id_of_the_address(chromium: Reader, world: World) -> None:
    """The site keeps other posts' bodies in the page.

    3.9-01: LessWrong selector and id from URL.
    """
    post = posts.lesswrong(world.sites, body=f"<p>{BRAIN}</p>")
    id_ = post.url.split("/")[4]
    other = posts.lesswrong_post("another0000000000", f"<p>{WALL}</p>")
    sent = await observed(chromium, replace(post, html=post.html.replace("<main", f"{other}<main", 1)))
    assert (sent["platform"], sent["externalId"]) == ("LESSWRONG", id_)
    assert sent["metadata"]["htmlContent"] == f"<p>{BRAIN}</p>"


@pytest.mark.requirement("3.9-06")
async def test_a_substack_post_has_the_number_of_its_social_image(chromium: Reader, world: World) -> None:
    """The slug is no identity, and other numbers in the page are those of other posts.

    3.9-06: Substack numeric id from social image.
    """
    post = posts.substack(world.sites, body=f"<p>{BRAIN}</p>", after='<div data-post-id="140000007"></div>')
    number = post.url.rpartition("-")[2]
    sent = await observed(chromium, post)
    assert (sent["externalId"], sent["metadata"]["substackPostId"]) == (number, number)
    assert number.isdecimal()


@pytest.mark.requirement("3.8-08")
@pytest.mark.parametrize("site", ["LessWrong", "Substack", "Wikipedia"])
async def test_pictures_are_sent_with_their_places_in_the_text(site: str, chromium: Reader, world: World) -> None:
    """3.8-08: Image occurrences sent."""
    make = {"LessWrong": posts.lesswrong, "Substack": posts.substack, "Wikipedia": posts.wikipedia}[site]
    post = make(world.sites, body=PICTURED)
    sent = await observed(chromium, post)
    loaf = f"{'/'.join(post.url.split('/')[:3])}/loaf.png"
    assert sent["observedImageUrls"] == [loaf, "https://img.example/b.png"]
    assert sent["observedImageOccurrences"] == [
        {"originalIndex": 0, "normalizedTextOffset": 11, "sourceUrl": loaf, "captionText": "A loaf"},
        {"originalIndex": 1, "normalizedTextOffset": 15, "sourceUrl": "https://img.example/b.png"},
    ]


LOOKS = """(() => {
  const all = document.querySelectorAll.bind(document);
  globalThis.looks = 0;
  document.querySelectorAll = (selector) => {
    if (selector === '.PostsPage-postContent') globalThis.looks++;
    return all(selector);
  };
})()"""
"""Count in the content script's own world how often it looks for the post."""
UNREADY: dict[str, tuple[str, str]] = {
    "hydrating": ('id="postContent"', 'id="postContentToCome"'),
    "ambiguous": ("</main>", "</main>{again}"),
}


@pytest.mark.requirement("3.8-06")
@pytest.mark.parametrize("why", UNREADY)
async def test_nothing_is_said_of_a_page_before_it_is_ready(why: str, chromium: Reader, world: World) -> None:
    """3.8-06: not_ready reasons."""
    post = posts.lesswrong(world.sites, body=f"<p>{BRAIN}</p>")
    main = post.html[post.html.index("<main") : post.html.index("</main>") + len("</main>")]
    ready, unready = UNREADY[why]
    before = len(chromium.sent)
    page = await chromium.open(replace(post, html=post.html.replace(ready, unready.replace("{again}", main), 1)))
    await chromium.own(page, LOOKS)
    for look in (1, 2):
        await page.evaluate("document.querySelector('#postBody').append(document.createElement('hr'))")
        await chromium.until(partial(chromium.own, page, f"looks >= {look}"), "another look")
    await chromium.says(page, CHECKING)
    assert [one.path for one in chromium.sent[before:] if one.path.startswith("/trpc/")] == []
    await page.evaluate("(html) => { document.body.innerHTML = html }", main)
    await chromium.says(page, WAITING)
    (sent,) = (json.loads(one.body) for one in chromium.asked("post.registerObservedVersion") if post.url in one.body)
    assert sent["metadata"]["htmlContent"] == f"<p>{BRAIN}</p>"
