"""A page that does its worst: it cannot break the extension, open its interface, or read a word of it."""

from __future__ import annotations

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.long_page import answers_with
from tests.extension.posts import BRAIN, WALL, Post
from tests.extension.test_pages import investigated

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-server")]

POISON = """<script>
  globalThis.heard = [];
  addEventListener('message', (event) => heard.push(event.data), true);
  const attach = Element.prototype.attachShadow;
  globalThis.roots = [];
  Element.prototype.attachShadow = function (init) { const r = attach.call(this, init); roots.push(r); return r; };
  for (const name of ['kind', 'ok', 'type', 'then', 'toJSON', 'v', 'payload', 'claimId'])
    Object.defineProperty(Object.prototype, name, { value: 'poison', configurable: true, writable: true });
  Array.prototype.map = Array.prototype.filter = () => [];
  String.prototype.slice = String.prototype.normalize = () => 'poison';
  JSON.stringify = JSON.parse = () => { throw new Error('poison'); };
  globalThis.fetch = globalThis.Range = globalThis.Highlight = globalThis.MutationObserver = undefined;
  crypto.randomUUID = () => 'known';
  Document.prototype.createRange = Document.prototype.createElement = () => { throw new Error('poison'); };
  Node.prototype.appendChild = Element.prototype.append = () => { throw new Error('poison'); };
  for (const getter of ['firstChild', 'nextSibling', 'parentNode'])
    Object.defineProperty(Node.prototype, getter, { get: () => null });
</script>"""
CLOBBER = """<form><input name="nextSibling"><input name="firstChild"><input name="parentNode"><input name="nodeType">
  <input name="localName"><input name="getAttribute"><input name="textContent"><input name="nextElementSibling">
  <input name="childNodes"><input name="children"><input name="matches"><input name="closest"><input name="remove">
  <input name="attributes"><input name="isConnected"><input name="parentElement"></form>"""


def poisoned(post: Post) -> Post:
    return Post(post.url, post.html.replace("<head>", f"<head>{POISON}"), post.wrong)


async def test_a_page_that_poisons_its_own_world(chromium: Reader, world: World) -> None:
    page = await chromium.open(poisoned(await investigated(world, BRAIN, WALL)))
    await chromium.underlines(page, [BRAIN, WALL])
    await page.bring_to_front()
    await page.mouse.move(1, 1)
    box = await chromium.own(
        page,
        "(() => { const [range] = [...CSS.highlights.values()][0]; const b = range.getBoundingClientRect();"
        " return [b.x + 10, b.y + b.height / 2]; })()",
    )
    await page.mouse.move(*box)
    frame = await chromium.frame(page)
    await frame.locator(".tooltip .summary").wait_for()
    await page.mouse.click(*box)
    await frame.get_by_role("dialog").wait_for()
    summary = await frame.locator(".panel p").first.inner_text()
    assert summary
    assert await page.evaluate("roots.length") == 0
    assert await page.evaluate("heard") == []
    assert await page.evaluate("document.querySelectorAll('iframe').length + window.length") == 0
    for one in (summary, words("pagePanelHeading"), words("pageReasoning"), words("pageProvenanceServer")):
        assert await page.evaluate(f"window.find({one!r}, false, false, true)") is False
    read = await page.evaluate(
        """() => {
          const selection = getSelection();
          selection.selectAllChildren(document.documentElement);
          selection.modify('extend', 'forward', 'documentboundary');
          return String(selection) + document.documentElement.outerHTML + document.documentElement.innerText;
        }"""
    )
    assert BRAIN.split(" ", 2)[2] in read
    assert words("pagePanelHeading") not in read
    assert summary not in read
    assert chromium.id not in read
    names = "[...performance.getEntries()].reduce((all, { name }) => `${all} ${name}`, '')"
    assert "extension:" not in await page.evaluate(names)


async def test_a_page_whose_forms_pose_as_the_tree(chromium: Reader, world: World) -> None:
    """A control of a form hides the form's own properties from every script, ours included."""
    body = f"<p>Morning. {BRAIN}</p>{CLOBBER}<p>Noon. {WALL}</p><div>{CLOBBER}</div>"
    page = await chromium.open(posts.lesswrong(world.sites, body=body))
    await chromium.says(page, words("popupNotInvestigated"))
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
    await chromium.underlines(page, [BRAIN, WALL])


async def test_a_page_that_plays_the_reader_or_the_extension(chromium: Reader, world: World) -> None:
    page = await chromium.open(await investigated(world, BRAIN))
    await chromium.underlines(page, [BRAIN])
    await page.evaluate(
        """(id) => {
          const range = [...[...CSS.highlights.values()][0]][0];
          const { x, y, height } = range.getBoundingClientRect();
          const at = { bubbles: true, clientX: x + 5, clientY: y + height / 2, key: 'Tab' };
          for (const target of [range.startContainer.parentElement, document, window]) {
            target.dispatchEvent(new PointerEvent('pointermove', at));
            target.dispatchEvent(new MouseEvent('click', at));
            target.dispatchEvent(new KeyboardEvent('keydown', at));
          }
          const fake = document.createElement('div');
          fake.attachShadow({ mode: 'open' }).innerHTML = `<iframe src="chrome-extension://${id}/frame.html#0"></iframe>`;
          document.documentElement.append(fake);
          const bare = document.createElement('iframe');
          bare.src = `chrome-extension://${id}/frame.html`;
          document.body.append(bare);
        }""",
        chromium.id,
    )
    await page.bring_to_front()
    await chromium.point(page, BRAIN)

    async def shown() -> bool:
        return any([await frame.locator(".summary").count() for frame in page.frames if "frame.html" in frame.url])

    await chromium.until(shown, "the true frame opens although there are false ones")
    hosts = "[...document.documentElement.children].filter((one) => one.localName === 'div').length"
    assert await page.evaluate(hosts) == 2, "one is the page's own; no event that a script made opened ours earlier"
    says = [await frame.locator("body").inner_text() for frame in page.frames if frame is not page.main_frame]
    assert sum("brain" in one for one in says) == 1, says

    await page.evaluate(
        "for (const one of [...document.documentElement.children]) if (one.localName === 'div') one.remove()"
    )
    await page.mouse.move(1, 1)
    await chromium.point(page, BRAIN)
    await chromium.until(shown, "what the page removed is made anew")


async def test_five_megabytes(chromium: Reader, world: World) -> None:
    """As one word that no limit of words stops, and around an article that is a small part of its page."""
    endless = posts.lesswrong(world.sites, body=f"<p>{'x' * 5_000_000}</p>")
    page = await chromium.open(endless)
    await chromium.says(page, words("problemBadContent"))
    assert not [one for one in chromium.asked("post.registerObservedVersion") if endless.url in one.body]
    small = await investigated(world, BRAIN)
    ballast = "<p>All of this is no part of the article.</p>" * 120_000
    page = await chromium.open(Post(small.url, small.html.replace("</body>", f"<aside>{ballast}</aside></body>")))
    await chromium.underlines(page, [BRAIN])


async def test_a_server_whose_findings_do_their_worst(chromium: Reader, world: World) -> None:
    """Two of one id, a reasoning that nests deeper than calls may, a source that would turn its host around."""
    away = "<img src=x onerror=alert(1)>[x](javascript:alert(1))"
    source = {"url": "https://evil.example/", "title": "\u202emoc.sretuer", "snippet": "It is."}
    script = {"url": "javascript:alert(1)", "title": "x", "snippet": "x"}
    claim = {"id": "one", "text": BRAIN, "context": BRAIN, "summary": away, "sources": [script, source]}
    chromium.answers |= answers_with([BRAIN])
    chromium.answers["post.recordViewAndGetStatus"] = {
        "investigationState": "INVESTIGATED",
        "provenance": "SERVER_VERIFIED",
        "claims": [{**claim, "reasoning": away}, {**claim, "reasoning": ">" * 50_000}],
    }
    try:
        page = await chromium.open(posts.lesswrong(world.sites, BRAIN))
        await chromium.underlines(page, [BRAIN])
        popup = await chromium.popup(page)
        await popup.get_by_role("listitem").get_by_text(away).wait_for()
        assert await popup.get_by_role("listitem").count() == 1
        await popup.close()
        await page.bring_to_front()
        await page.mouse.click(*await chromium.point(page, BRAIN))
        frame = await chromium.frame(page)
        await frame.get_by_role("dialog").wait_for()
        assert await frame.locator(".reasoning").inner_text() == ">" * 50_000
        links = frame.get_by_role("link")
        assert await links.evaluate_all("(all) => all.map(({ href }) => href)") == [source["url"]]
        title, host = await links.bounding_box(), await frame.locator(".host").bounding_box()
        assert title is not None
        assert host is not None
        assert title["x"] + title["width"] <= host["x"], "what a title turns around ends with it"
    finally:
        chromium.answers.clear()
