"""Readers who use the keyboard's commands, read from right to left, magnify, or want nothing to move."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Literal

import pytest
from playwright.async_api import FloatRect, Frame, Page

from tests.extension import posts
from tests.extension.chromium import VIEW, Reader
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL
from tests.extension.test_pages import investigated

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]


async def place(frame: Frame) -> FloatRect:
    """Where the frame is seen."""
    box = await (await frame.frame_element()).bounding_box()
    assert box is not None
    return box


async def panel(chromium: Reader, page: Page, words: str) -> Frame:
    """Open the panel on underlined words."""
    await page.bring_to_front()
    x, y = await chromium.point(page, words)
    await page.mouse.click(x, y)
    frame = await chromium.frame(page)
    await frame.get_by_role("dialog").wait_for()
    return frame


async def test_commands_lead_from_finding_to_finding(chromium: Reader, world: World) -> None:
    page = await chromium.open(await investigated(world, BRAIN, WALL))
    await chromium.underlines(page, [BRAIN, WALL])
    await chromium.command(page, "next-finding")
    frame = await chromium.frame(page)
    first, second = frame.get_by_role("listitem").nth(0), frame.get_by_role("listitem").nth(1)

    async def focused() -> str:
        said: str = await frame.evaluate("document.activeElement?.innerText ?? ''")
        return said

    await first.wait_for()
    one, other = await first.inner_text(), await second.inner_text()
    assert one != other
    await chromium.until(focused, "the first is spoken", lambda said: said == one)
    await chromium.command(page, "next-finding")
    await chromium.until(focused, "then the second", lambda said: said == other)
    await chromium.command(page, "next-finding")
    await chromium.until(focused, "and round again", lambda said: said == one)
    await chromium.command(page, "previous-finding")
    await chromium.until(focused, "and back", lambda said: said == other)
    await chromium.command(page, "toggle-highlights")
    await chromium.underlines(page, [])
    await chromium.command(page, "toggle-highlights")
    await chromium.underlines(page, [BRAIN, WALL])


@pytest.mark.parametrize("attributes", ["details", 'section hidden="until-found"'])
async def test_a_command_opens_what_hides_a_finding(attributes: str, chromium: Reader, world: World) -> None:
    """A section of Wikipedia for phones is hidden until it is found, and its heading says so until it hears of that."""
    far = '<div style="height:1900px"></div>'
    name, closed = attributes.split(" ")[0], f"<details><summary>More</summary>{posts.prose(BRAIN)}</details>"
    page = await chromium.open(await investigated(world, BRAIN, body=f"{far}<{attributes}>{closed}</{name}>{far}"))
    await page.evaluate("document.addEventListener('beforematch', () => { globalThis.found = true; })")
    await chromium.underlines(page, [BRAIN])
    await chromium.command(page, "next-finding")
    where = "() => { const words = document.querySelector('details em');"
    visible = "words.checkVisibility({ contentVisibilityAuto: true })"
    where += f" return {visible} ? words.getBoundingClientRect().top : -1; }}"
    await chromium.until(lambda: page.evaluate(where), "the finding is in sight", lambda top: 0 < top < VIEW["height"])
    assert await page.evaluate("globalThis.found === true") is (name == "section")


@pytest.mark.requirement("2.5-08")
async def test_underlines_are_red_waves(chromium: Reader, world: World) -> None:
    """2.5-08: Red underline, tooltip, details on click."""
    page = await chromium.open(await investigated(world, BRAIN))
    await chromium.underlines(page, [BRAIN])
    style = "(name) => { const s = getComputedStyle(document.querySelector('p'), `::highlight(${name})`);"
    style += " return [s.textDecorationLine, s.textDecorationStyle, s.textDecorationColor]; }"
    (name,) = await page.evaluate("[...CSS.highlights].filter(([, one]) => one.size > 0).map(([name]) => name)")
    assert await page.evaluate(style, name) == ["underline", "wavy", "rgb(200, 30, 30)"]


@pytest.mark.requirement("2.5-09")
@pytest.mark.parametrize("ground", ["white", "black"])
async def test_the_interface_takes_the_ground_of_the_page(ground: str, chromium: Reader, world: World) -> None:
    """And not that of the system: sites have switches of their own, also while they are read.

    2.5-09: Light and dark pages each have their colours.
    """
    page = await chromium.open(await investigated(world, BRAIN))
    await page.emulate_media(color_scheme="light" if ground == "black" else "dark")
    await chromium.underlines(page, [BRAIN])
    frame = await panel(chromium, page, BRAIN)
    await page.evaluate("(colour) => { document.body.style.background = colour; }", ground)
    await page.evaluate("document.documentElement.className = 'switched'")

    async def surface() -> str:
        colour: str = await frame.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return colour

    wanted = "rgb(255, 255, 255)" if ground == "white" else "rgb(31, 32, 36)"
    await chromium.until(surface, f"the panel is {ground}", lambda colour: colour == wanted)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
async def test_the_list_stands_where_lines_end(
    direction: Literal["ltr", "rtl"], chromium: Reader, world: World
) -> None:
    post = await investigated(world, BRAIN)
    page = await chromium.open(replace(post, html=post.html.replace("<html ", f'<html dir="{direction}" ')))
    await chromium.underlines(page, [BRAIN])
    await chromium.command(page, "next-finding")
    frame = await chromium.frame(page)
    at = await chromium.until(lambda: place(frame), "the list is seen", lambda at: at["width"] > 50 and at["y"] < 50)
    left, right = at["x"], VIEW["width"] - at["x"] - at["width"]
    assert (left < right) is (direction == "rtl")
    await chromium.shot(page, f"list-{direction}")


async def test_all_fits_at_twice_the_size(chromium: Reader, world: World) -> None:
    """Magnified to 200 % a window has half as many pixels of its own each way."""
    page = await chromium.open(await investigated(world, BRAIN, WALL))
    width, height = VIEW["width"] // 2, VIEW["height"] // 2
    await page.set_viewport_size({"width": width, "height": height})
    await chromium.underlines(page, [BRAIN, WALL])
    await page.bring_to_front()
    await chromium.point(page, WALL)
    frame = await chromium.frame(page)
    await frame.locator(".tooltip").wait_for()
    await _inside(chromium, page, frame, width, height)
    frame = await panel(chromium, page, WALL)
    await _inside(chromium, page, frame, width, height)
    assert await frame.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off at a side"
    await frame.locator(".sources a").first.scroll_into_view_if_needed()
    await chromium.shot(page, "panel-magnified")


BOX = """(({ width, height }) => [width, height, innerWidth, innerHeight])(
    document.querySelector("main").getBoundingClientRect()
)"""


async def _inside(chromium: Reader, page: Page, frame: Frame, width: int, height: int) -> None:
    """The frame has the size of what is in it, also by its own process, which hears of it later; all is in sight."""

    async def places() -> tuple[FloatRect, list[float]]:
        return await place(frame), await frame.evaluate(BOX)

    def inside(at: FloatRect, sizes: list[float]) -> bool:
        size = [at["width"], at["height"]]
        fits = [ceil(one) for one in sizes] == [*size, *size]
        across = at["x"] >= 0 and at["x"] + at["width"] <= width and at["width"] > 100
        return fits and across and at["y"] >= 0 and at["y"] + at["height"] <= height and at["height"] > 50

    await chromium.until(places, "it is in sight as a whole", lambda both: inside(*both))


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
async def test_nothing_glides_for_who_wants_no_motion(
    motion: Literal["reduce", "no-preference"], chromium: Reader, world: World
) -> None:
    far = "".join(f"<p>{posts.FILLER}</p>" for _ in range(80))
    page = await chromium.open(await investigated(world, BRAIN, body=f"{far}<p>{BRAIN}</p>{far}"))
    await page.emulate_media(reduced_motion=motion)
    await chromium.underlines(page, [BRAIN])
    await page.evaluate(
        "() => { globalThis.stops = new Set(); addEventListener('scroll', () => stops.add(Math.round(scrollY)));"
        " addEventListener('scrollend', () => { globalThis.arrived = true; }); }"
    )
    await chromium.command(page, "next-finding")
    await page.wait_for_function("globalThis.arrived === true")
    stops = await page.evaluate("stops.size")
    assert stops == 1 if motion == "reduce" else stops > 1


@pytest.mark.parametrize("name", ["options.html", "welcome.html"])
async def test_a_page_of_its_own_on_the_narrowest_window(name: str, chromium: Reader) -> None:
    page = await chromium.context.new_page()
    await page.set_viewport_size({"width": 320, "height": 600})
    await page.goto(f"chrome-extension://{chromium.id}/{name}")
    await page.get_by_role("heading").first.wait_for()
    wide = "[...document.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > 320)"
    assert await page.evaluate(f"{wide}.map((one) => one.outerHTML.slice(0, 80))") == []
    assert await page.evaluate("document.documentElement.scrollWidth") == 320
    await chromium.shot(page, f"narrow-{name.partition('.')[0]}")


async def test_what_is_shown_covers_no_word_of_the_sentence_that_it_is_about(chromium: Reader, world: World) -> None:
    """Of a sentence of several lines, whichever of them the reader points at."""
    page = await chromium.open(await investigated(world, WALL))
    await page.set_viewport_size({"width": 800, "height": 900})
    await page.add_style_tag(content=".mw-parser-output { width: 240px; margin-left: auto; }")
    await chromium.underlines(page, [WALL])
    await page.bring_to_front()
    await chromium.point(page, WALL)
    frame = await chromium.frame(page)
    await frame.locator(".tooltip").wait_for()
    lines = "[...CSS.highlights.values()].flatMap((h) => [...h].flatMap((range) => [...range.getClientRects()]))"
    boxes = f"{lines}.map(({{ x, y, width, height }}) => [x, y, width, height])"
    assert len({y for _, y, _, _ in await page.evaluate(boxes)}) > 2, "the sentence has several lines"

    async def overlaps() -> list[list[float]]:
        at = await place(frame)
        assert at["height"] > 50
        return [
            [x, y, width, height]
            for x, y, width, height in await page.evaluate(boxes)
            if x < at["x"] + at["width"] and at["x"] < x + width and y < at["y"] + at["height"] and at["y"] < y + height
        ]

    await chromium.until(overlaps, "the tooltip leaves the sentence free", lambda found: found == [])
    await chromium.shot(page, "tooltip-several-lines")
    frame = await panel(chromium, page, WALL)
    await chromium.until(overlaps, "so does the panel", lambda found: found == [])
    await chromium.shot(page, "panel-several-lines")
