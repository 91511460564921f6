"""A post is called what its page calls it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from services.projector.projections.metadata import title_of
from tests.unit.projector.histories import Page


@pytest.mark.parametrize(
    ("platform", "given", "title"),
    [
        ("WIKIPEDIA", {"title": "Great_Wall_of_China"}, "Great Wall of China"),
        ("WIKIPEDIA", {"title": "EBay", "display_title": "<span class='x'>eBay</span>"}, "eBay"),
        ("WIKIPEDIA", {"title": "Go_(game)", "display_title": "<i>Go</i> (game) &amp; more"}, "Go (game) & more"),
        ("WIKIPEDIA", {"title": "A_b", "display_title": "<span></span>"}, "A b"),
        ("WIKIPEDIA", {"title": 7}, None),
        ("SUBSTACK", {"title": "snake_case <b>"}, "snake_case <b>"),
        ("X", {}, None),
    ],
)
def test_titles(platform: str, given: dict[str, JsonValue], title: str | None) -> None:
    event: Any = Page("1", "Text.", platform=platform).registered()
    sighting = event.sighting.model_copy(update={"metadata": given})
    assert title_of(event.model_copy(update={"sighting": sighting})) == title
