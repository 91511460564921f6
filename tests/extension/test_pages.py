"""Pages that are private, unsuitable, edited, re-rendered, or in the middle of building themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from platforms import get_platform
from tests.extension import posts
from tests.extension.chromium import OBSERVE, Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, GOLDFISH, WALL, Post, number
from tests.support.sites import Sites
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

OFFER = '<div class="paywall">This post is for paid subscribers <a href="/subscribe">Subscribe</a></div>'
PAID = '<script type="application/ld+json">{"isAccessibleForFree":false}</script>'
PRIVATE, VIDEO, LONG = map(words, ("popupSkippedPrivate", "popupSkippedVideo", "popupSkippedWords"))
NO_TEXT, OTHER_KIND = map(words, ("popupSkippedNoText", "popupSkippedUnsupported"))
NO_POST = words("popupUnsupported")
NOW, WAITING = words("popupInvestigateNow"), words("popupNotInvestigated")


def x_wordless() -> Post:
    """A post of nothing but a picture."""
    post = posts.x(after='<div data-testid="tweetPhoto"><img src="https://pbs.twimg.com/media/a.jpg"></div>')
    return replace(post, html=re.sub(r'(<div data-testid="tweetText">).*?(</div>)', r"\1\2", post.html))


def x_picture() -> Post:
    """A post of nothing but a picture, as the site shows it: without an element for words."""
    post = x_wordless()
    return replace(post, html=post.html.replace('<div data-testid="tweetText"></div>', ""))


def no_article(sites: Sites) -> Post:
    """A page of Wikipedia that only its script tells from an article: its namespace has no English name."""
    post = posts.wikipedia(sites, BRAIN, title=f"Diskussion:A_walk_{number()}")
    return replace(post, html=post.html.replace('"wgNamespaceNumber": 0', '"wgNamespaceNumber": 1'))


def other(url: str) -> Callable[[Sites], Post]:
    """A page of a site that is none of its posts, with words in it that somebody may have got wrong."""
    return lambda _: Post(url, posts.document("", f"<main><article>{posts.prose(BRAIN)}</article></main>"))


UNSENT: dict[str, tuple[Callable[[Sites], Post], str]] = {
    "a post behind a wall": (lambda sites: posts.substack(sites, BRAIN, after=OFFER), PRIVATE),
    "a paid post shown in full": (lambda sites: posts.substack(sites, BRAIN, head=PAID), PRIVATE),
    "a protected post": (lambda _: posts.x_protected(), PRIVATE),
    "a video on X": (lambda _: posts.x(BRAIN, after='<div data-testid="videoPlayer"></div>'), VIDEO),
    "a video on LessWrong": (lambda sites: posts.lesswrong(sites, body=f"<p>{BRAIN}</p><video></video>"), VIDEO),
    "a video on Wikipedia": (lambda sites: posts.wikipedia(sites, body=f"<p>{BRAIN}</p><video></video>"), VIDEO),
    "a post on X without words": (lambda _: x_wordless(), NO_TEXT),
    "a picture on X": (lambda _: x_picture(), OTHER_KIND),
    "a page about an article": (no_article, OTHER_KIND),
    "a talk page": (other("https://en.wikipedia.org/wiki/Talk:A_walk"), OTHER_KIND),
    "a tag of LessWrong": (other("https://www.lesswrong.com/tag/walking"), NO_POST),
    "a profile on X": (other("https://x.com/ada"), NO_POST),
    "a search on X": (other("https://x.com/search?q=walking"), NO_POST),
    "the first page of X": (other("https://x.com/home"), NO_POST),
    "an archive on Substack": (other("https://walks.substack.com/archive"), NO_POST),
    "pictures on LessWrong": (lambda sites: posts.lesswrong(sites, body='<p><img src="/a.png" alt="A"></p>'), NO_TEXT),
    "a very long article": (
        lambda sites: posts.wikipedia(sites, body=f"<p>{BRAIN}</p>" + "<p>word</p>" * 10_000),
        LONG,
    ),
}


async def investigated(world: World, *sentences: str, body: str = "", page_id: int = 0) -> Post:
    """An article that somebody else has had investigated."""
    post = posts.wikipedia(world.sites, *sentences, body=body, page_id=page_id)
    revision, page = list(world.sites.wikipedia.items())[-1]
    async with world.member() as member:
        version = await member.register(
            {
                "platform": "WIKIPEDIA",
                "url": post.url,
                "observedContentText": get_platform("WIKIPEDIA").extract_text(page.html),
                "metadata": {
                    "language": "en",
                    "title": page.title.replace(" ", "_"),
                    "pageId": str(page.page_id),
                    "revisionId": revision,
                },
            }
        )
        assert version["provenance"] == "SERVER_VERIFIED"
        found = await member.investigate(version["postVersionId"])

        async def complete() -> bool:
            return bool((await member.look(found["investigationId"]))["investigationState"] == "INVESTIGATED")

        await until(complete, "the article is investigated", within_s=60)
    return post


@pytest.mark.parametrize("what", UNSENT)
@pytest.mark.requirement("2.1-06", "2.6-02", "3.8-04", "3.8-05", "3.9-04", "3.9-05", "3.9-08")
async def test_nothing_of_such_a_page_leaves_the_browser(what: str, chromium: Reader, world: World) -> None:
    """2.1-06: A post with video is skipped, its text too.
    2.6-02: Private and paid pages send nothing.
    3.8-04: Empty text skipped no_text.
    3.8-05: Five skip reasons.
    3.9-04: Posts of X with pictures alone are investigated.
    3.9-05: X protected posts skipped.
    3.9-08: Substack paywall skipped.
    """
    make, said = UNSENT[what]
    before = len(chromium.sent)
    page = await chromium.open(make(world.sites))
    await chromium.says(page, said)
    asked = [one.url for one in chromium.sent[before:] if one.by == "extension"]
    assert asked == []
    assert await chromium.badge(page) == ""


@pytest.mark.requirement("2.4.1-05", "2.6-08")
async def test_an_edited_article_keeps_only_findings_that_still_stand(chromium: Reader, world: World) -> None:
    """2.4.1-05: the popup shows a finding without a place, with its sentence, its reasoning and a link.

    2.4.1-05: A finding that cannot be placed is in the popup only.
    2.6-08: A view of a new version returns the verified earlier result meanwhile.
    """
    page_id = 700_000 + number()
    await investigated(world, BRAIN, WALL, GOLDFISH, page_id=page_id)
    corrected = GOLDFISH.replace("three seconds", "three months")
    edited = posts.wikipedia(world.sites, BRAIN, corrected, page_id=page_id)
    page = await chromium.open(edited)
    await chromium.underlines(page, [BRAIN])
    popup = await chromium.popup(page)
    await popup.get_by_text(words("popupInterim")).wait_for()
    await popup.get_by_text(words("popupClaimChanged")).wait_for()
    await popup.get_by_text(words("popupClaimMissing")).wait_for()
    missing = popup.get_by_role("listitem").filter(has_text=words("popupClaimMissing"))
    await missing.get_by_text(words("popupClaimWhy")).click()
    await missing.get_by_text(WALL, exact=True).wait_for()
    assert len(await missing.locator(".reasoning").inner_text()) > 20
    more = await popup.get_by_role("link", name=words("popupViewDetails")).get_attribute("href")
    assert more is not None
    assert more.startswith(f"{world.url}/investigations/")
    await chromium.shot(popup, "edited-popup")
    await popup.close()
    await page.bring_to_front()
    await chromium.point(page, BRAIN)
    frame = await chromium.frame(page)
    await frame.get_by_text(words("pageInterimShort")).wait_for()
    await chromium.shot(page, "edited-tooltip")


@pytest.mark.parametrize("site", ["LessWrong", "Substack"])
async def test_an_edited_post_of_other_sites_keeps_only_what_still_stands(
    site: str, chromium: Reader, world: World
) -> None:
    """The server asks these sites again only after minutes, so what it then says is written over."""
    corrected = WALL.replace("is visible", "is not visible")
    edited = SITES[site](world.sites, BRAIN, corrected)
    source = {"url": "https://facts.example/", "title": "Facts", "snippet": "Not so."}
    old = [
        {"id": f"claim-{n}", "text": text, "context": text, "summary": f"Not so: {text}", "reasoning": "No."}
        for n, text in enumerate((BRAIN, WALL, GOLDFISH))
    ]
    chromium.answers["post.recordViewAndGetStatus"] = {
        "investigationState": "NOT_INVESTIGATED",
        "priorInvestigationResult": {
            "oldClaims": [{**claim, "sources": [source]} for claim in old],
            "sourceInvestigationId": "018f4b1e-0000-7000-8000-000000000001",
        },
    }
    try:
        page = await chromium.open(edited)
        await chromium.underlines(page, [BRAIN])
    finally:
        chromium.answers.clear()
    popup = await chromium.popup(page)
    await popup.get_by_text(words("popupInterim")).wait_for()
    claims = popup.get_by_role("listitem")
    await claims.filter(has_text=words("popupClaimChanged")).filter(has_text=WALL).wait_for()
    await claims.filter(has_text=words("popupClaimMissing")).filter(has_text=GOLDFISH).wait_for()
    assert await claims.filter(has=popup.get_by_role("button")).count() == 1
    await popup.close()
    await page.bring_to_front()
    await chromium.point(page, BRAIN)
    await (await chromium.frame(page)).get_by_text(words("pageInterimShort")).wait_for()


@pytest.mark.requirement("2.4.1-04")
async def test_a_letter_of_difference_is_told_and_not_underlined(chromium: Reader, world: World) -> None:
    """Stricter than the row, which would underline it: no rule can tell a slip from a correction.

    2.4.1-04: A quote with a small typo is still underlined.
    """
    slip = BRAIN.replace("brains", "brain")
    source = {"url": "https://brains.example/", "title": "Brains", "snippet": "All of it."}
    said = {"id": "one", "text": slip, "context": slip, "summary": "All of it is used.", "reasoning": "All of it."}
    chromium.answers["post.recordViewAndGetStatus"] = {
        "investigationState": "INVESTIGATED",
        "provenance": "SERVER_VERIFIED",
        "claims": [{**said, "sources": [source]}],
    }
    try:
        page = await chromium.open(posts.lesswrong(world.sites, BRAIN))
        await chromium.says(page, words("popupClaimChanged"))
    finally:
        chromium.answers.clear()
    assert await chromium.underlined(page) == ""


async def test_a_page_that_renders_anew_or_clears_its_highlights_is_underlined_again(
    chromium: Reader, world: World
) -> None:
    page = await chromium.open(await investigated(world, BRAIN, WALL))
    await chromium.underlines(page, [BRAIN, WALL])
    await page.evaluate("() => { const p = document.querySelector('.mw-parser-output'); p.innerHTML = p.innerHTML; }")
    await chromium.underlines(page, [BRAIN, WALL])
    await page.evaluate("CSS.highlights.clear()")
    await chromium.underlines(page, [BRAIN, WALL])
    await page.evaluate("() => { for (const highlight of CSS.highlights.values()) highlight.clear(); }")
    await chromium.underlines(page, [BRAIN, WALL])
    await page.evaluate(
        "() => { const p = [...document.querySelectorAll('p')].find((one) => one.textContent.includes('Great'));"
        " p.innerHTML = p.innerHTML.replace('naked', 'unarmed'); }"
    )
    await chromium.underlines(page, [BRAIN])


async def test_words_that_are_replaced_within_their_node_are_never_underlined(chromium: Reader, world: World) -> None:
    """A range follows such an edit, as of an editor, and would then lie on words that were not checked."""
    page = await chromium.open(await investigated(world, BRAIN, WALL))
    await chromium.underlines(page, [BRAIN, WALL])
    await page.evaluate(
        """async () => {
          const underlined = () => [...CSS.highlights.values()].flatMap((one) => [...one].map(String)).join('');
          const text = [...document.querySelectorAll('p')].find((p) => p.textContent.includes('Great')).lastChild;
          text.replaceData(text.data.indexOf('visible'), 7, 'obscure');
          await new Promise((frame) => requestAnimationFrame(frame));
          globalThis.painted = underlined();
        }"""
    )
    assert await page.evaluate("painted") == BRAIN
    await chromium.underlines(page, [BRAIN])


async def test_a_page_that_the_browser_has_kept_is_as_its_reader_wants_it_now(chromium: Reader, world: World) -> None:
    first, second = await investigated(world, BRAIN), await investigated(world, WALL)
    page = await chromium.open(first)
    await chromium.underlines(page, [BRAIN])
    await page.evaluate("() => addEventListener('pageshow', ({ persisted }) => { globalThis.kept = persisted; })")
    chromium.pages[second.url] = second.html
    await page.goto(second.url)
    await chromium.underlines(page, [WALL])
    try:
        await chromium.settle(showHighlights=False)
        await chromium.underlines(page, [])
        await page.evaluate("() => { setTimeout(() => history.back()); }")
        await page.wait_for_url(first.url, wait_until="commit")
        await chromium.until(lambda: page.evaluate("() => globalThis.kept"), "the page is the one that was left")
        tab = await chromium.tab(page)
        place = "async ([key, url]) => { const { [key]: tab } = await chrome.storage.local.get(key);"
        place += " return tab?.pageUrl === url ? Object.values(tab.outcomes) : []; }"
        await chromium.until(
            lambda: chromium.chrome(place, [f"tab:{tab}", first.url]),
            "its finding has its place",
            lambda found: found == ["anchored"],
        )
        assert await chromium.underlined(page) == ""
    finally:
        await chromium.settle(showHighlights=True)
    await chromium.underlines(page, [BRAIN])


def named(sites: Sites, *sentences: str) -> Post:
    """A post on Substack whose page says which it is."""
    post = posts.substack(sites, *sentences)
    return replace(post, html=post.html.replace("<title>", f'<meta property="og:url" content="{post.url}"><title>'))


SITES: dict[str, Callable[..., Post]] = {
    "LessWrong": posts.lesswrong,
    "Substack": posts.substack,
    "Substack, named": named,
    "Wikipedia": posts.wikipedia,
    "X": lambda _, *sentences: posts.x(*sentences),
}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.requirement("3.8-06")
async def test_one_page_after_another_without_loading(site: str, chromium: Reader, world: World) -> None:
    """Sites go from post to post by script: the address first, the words when they arrive.

    3.8-06: not_ready reasons.
    """
    first, second = SITES[site](world.sites, BRAIN), SITES[site](world.sites, WALL)
    page = await chromium.open(first)
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=NOW).click()
    await chromium.underlines(page, [BRAIN])
    await popup.close()
    before = len(chromium.asked("post.registerObservedVersion"))
    await page.evaluate("(url) => history.pushState({}, '', url)", second.url)
    await chromium.underlines(page, [])
    await page.evaluate(
        """async (html) => {
          const made = new DOMParser().parseFromString(html, 'text/html');
          const turns = async (n) => { while (n--) await new Promise((turn) => setTimeout(turn, 100)); };
          await turns(12);
          document.body.innerHTML = made.body.innerHTML;
          await turns(6);
          document.head.innerHTML = made.head.innerHTML;
        }""",
        second.html,
    )
    await chromium.says(page, WAITING)
    sent = chromium.asked("post.registerObservedVersion")[before:]
    number = re.escape(second.html.split(" Note ")[1].split(".")[0])
    told = [(second.url in one.body, re.search(rf"Note {number}\b", one.body) is not None) for one in sent]
    assert told == [(True, True)], "the old words are never sent under the new address"
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=NOW).click()
    await chromium.underlines(page, [WALL])
    await popup.close()


async def test_a_page_that_takes_over_its_own_html_finds_it_as_the_server_made_it(
    chromium: Reader, world: World
) -> None:
    """Hydration: a framework walks the tree it was sent and complains of anything that is not in it."""
    post = await investigated(world, BRAIN)
    page = await chromium.open(post)
    await chromium.underlines(page, [BRAIN])
    await page.evaluate(OBSERVE)
    await page.bring_to_front()
    await chromium.point(page, BRAIN)
    await chromium.frame(page)
    differs = await page.evaluate(
        """(html) => {
          const made = new DOMParser().parseFromString(html, 'text/html');
          const same = (one, other) => one.isEqualNode(other);
          const found = [];
          if (!same(document.head, made.head)) found.push('head');
          if (!same(document.body, made.body)) found.push('body');
          const names = (element) => element.getAttributeNames().join();
          if (names(document.documentElement) !== names(made.documentElement)) found.push('attributes of html');
          return found;
        }""",
        post.html,
    )
    assert differs == []
    assert await page.evaluate("seen.length") == 1


async def test_three_hundred_findings(chromium: Reader, world: World) -> None:
    """As many as a catalogue of well-known errors cannot give, so what the server says is written over."""
    sentences = [f"The {n}th bridge over the river was built in {1400 + n} by one person alone." for n in range(300)]
    post = posts.wikipedia(world.sites, *sentences)
    claims = [
        {
            "id": f"claim-{n}",
            "text": sentence,
            "context": sentence,
            "summary": f"Bridge {n} was built by many.",
            "reasoning": "It was **many**.",
            "sources": [{"url": "https://bridges.example/", "title": "Bridges", "snippet": "Many."}],
        }
        for n, sentence in enumerate(sentences)
    ]
    chromium.answers["post.recordViewAndGetStatus"] = {
        "investigationState": "INVESTIGATED",
        "provenance": "SERVER_VERIFIED",
        "claims": claims,
    }
    try:
        page = await chromium.open(post)
        await chromium.underlines(page, sentences)
    finally:
        chromium.answers.clear()
    await chromium.shows(page, "300")
    await page.bring_to_front()
    await chromium.point(page, sentences[250])
    frame = await chromium.frame(page)
    await frame.get_by_text("Bridge 250 was built by many.").first.wait_for()
    await chromium.shot(page, "many-tooltip")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    await frame.get_by_text(words("pageListMany", 300)).wait_for(state="attached")
    assert await frame.locator("li").count() == 300


@pytest.mark.requirement("2.1-10", "3.9-03")
async def test_only_the_post_of_a_thread_is_sent(chromium: Reader, world: World) -> None:
    """Not the answers under it, nor the post that it quotes.

    2.1-10: No comments, threads, quoted posts or mobile apps.
    3.9-03: X main tweet only.
    """
    post = posts.x(BRAIN, after=f'<div role="link"><div data-testid="tweetText">Quoted. {WALL}</div></div>')
    answer = f'<article><a href="/bob/status/17">1 h</a><div data-testid="tweetText">Answer. {GOLDFISH}</div></article>'
    page = await chromium.open(replace(post, html=post.html.replace("</article>", f"</article>{answer}")))
    await chromium.says(page, WAITING)
    (sent,) = (one.body for one in chromium.asked("post.registerObservedVersion") if post.url in one.body)
    assert BRAIN in sent
    assert "Quoted" not in sent
    assert "Answer" not in sent


@pytest.mark.requirement("2.4.1-03")
async def test_a_sentence_that_stands_there_twice_is_underlined_where_its_context_is(
    chromium: Reader, world: World
) -> None:
    """2.4.1-03: The context tells which place of a repeated quote is meant."""
    body = f"<p>Ada writes: {BRAIN} She says it as it is.</p><p>Bob writes: {BRAIN} He says that this is wrong.</p>"
    source = {"url": "https://brains.example/", "title": "Brains", "snippet": "All of it."}
    said = {"id": "one", "text": BRAIN, "context": f"Bob writes: {BRAIN} He says that this is wrong."}
    chromium.answers["post.recordViewAndGetStatus"] = {
        "investigationState": "INVESTIGATED",
        "provenance": "SERVER_VERIFIED",
        "claims": [{**said, "summary": "All of it is used.", "reasoning": "All of it.", "sources": [source]}],
    }
    try:
        page = await chromium.open(posts.lesswrong(world.sites, body=body))
        await chromium.underlines(page, [BRAIN])
    finally:
        chromium.answers.clear()
    where = "[...CSS.highlights.values()].flatMap((one) => [...one]).map((one) => one.startContainer.textContent)"
    assert ["Bob writes" in one for one in await chromium.own(page, where)] == [True]
