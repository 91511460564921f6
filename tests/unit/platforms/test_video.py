"""What counts as a video, on the cases that the extension's rule is tested with too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.v1.parts import ImageOccurrence
from platforms import get_platform
from platforms.markdown import render
from platforms.markup import Fragment
from platforms.video import shows_video

CASES: list[dict[str, str | bool]] = json.loads((Path(__file__).parents[2] / "cases" / "video.json").read_text())
NO_PICTURES: tuple[ImageOccurrence, ...] = ()


@pytest.mark.requirement("2.1-06")
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["html"]) or "empty")
def test_a_video_element_or_the_frame_of_a_player_is_a_video(case: dict[str, str | bool]) -> None:
    """2.1-06: A post with video is skipped, its text too."""
    assert shows_video(Fragment.parse(str(case["html"]))) is case["video"]


@pytest.mark.requirement("2.4-04")
@pytest.mark.parametrize("site", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
def test_a_rendered_article_says_whether_it_shows_a_video(site: str) -> None:
    """2.4-04: the flag is read from the article's own HTML, so it is set in production too.

    2.4-04: Video not analysed.
    """
    for html, expected in (("<p>Words.</p><video></video>", True), ("<p>Words.</p>", False)):
        rendered = render(html, base_url="https://site.example/", occurrences=NO_PICTURES, site=get_platform(site))
        assert rendered.has_video is expected
        assert rendered.text == "Words."
