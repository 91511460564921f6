"""What is read of a record is what its page shows; the extension reads pages of the same records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platforms import get_platform
from platforms.bluesky_text import shown_text
from tests.support.bluesky import signed
from tests.support.repositories import NOW, POST_PATH, PROFILE_PATH, post, profile
from tests.unit.platforms.test_bluesky import walk

FILES: Final = Path(__file__).parents[2] / "cases"
CASES: Final[list[dict[str, Any]]] = json.loads((FILES / "bluesky_posts.json").read_text(encoding="utf-8"))
"""Records written by us, and the text of each; extension/tests/platforms/bluesky.test.ts makes pages of them."""
RECORDED: Final[list[dict[str, Any]]] = json.loads((FILES / "bluesky_recorded.json").read_text(encoding="utf-8"))[
    "posts"
]
"""The same of recorded records, whose letters are replaced by ours; the file says what is as recorded."""
LINK: Final = {"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/"}


@pytest.mark.requirement("FS-53")
@pytest.mark.parametrize("case", CASES + RECORDED, ids=lambda case: case["name"])
def test_a_proved_record_has_the_text_that_its_page_shows(case: dict[str, Any]) -> None:
    """FS-53: 60 recorded posts give the same text from page and record."""
    page, _ = walk(signed({POST_PATH: post(**case["record"]), PROFILE_PATH: profile()}, NOW))
    assert get_platform("BLUESKY").extract_text(page.html) == case["text"]


def test_there_are_sixty_of_them() -> None:
    assert len({case["name"] for case in CASES}) == 60


def test_the_recorded_shapes_are_more_than_sixty_and_of_every_kind() -> None:
    records = [case["record"] for case in RECORDED]
    assert len({record["text"] for record in records}) == len(records) > 60
    kinds = {kind.rpartition("#")[2] for record in records for _, kind in marked(record)}
    assert kinds == {"link", "mention", "tag"}
    embeds = {record["embed"]["$type"].rpartition(".")[2] for record in records if "embed" in record}
    assert embeds == {"images", "record", "recordWithMedia", "external", "video"}


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_the_facets_of_a_recorded_shape_mark_whole_words(case: dict[str, Any]) -> None:
    for part, kind in marked(case["record"]):
        assert part == part.strip()
        assert not re.search(rf"{re.escape(part)}\w", case["record"]["text"])
        assert kind.endswith("#link") or part[0] == "@" * kind.endswith("#mention") or part[0] in "#＃"


def marked(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The part of a text that each facet marks, and the facet's kind. Raises: ValueError: it divides a character."""
    for facet in record.get("facets", ()):
        start, end = facet["index"]["byteStart"], facet["index"]["byteEnd"]
        yield record["text"].encode()[start:end].decode(), facet["features"][0]["$type"]


@given(
    st.text(st.characters(max_codepoint=127, exclude_characters=":")),
    st.none()
    | st.lists(
        st.text()
        | st.fixed_dictionaries(
            {
                "index": st.fixed_dictionaries(
                    {"byteStart": st.integers(-2, 40), "byteEnd": st.integers(-2, 40) | st.none()}
                ),
                "features": st.lists(st.sampled_from([LINK, {"$type": "other"}, "none"])),
            }
        )
    ),
)
def test_facets_change_nothing_but_web_addresses(text: str, facets: Any) -> None:
    assert shown_text(text, facets) == text


def test_a_vertical_line_counts_as_chromium_encodes_it() -> None:
    """Whether a path is cut depends on its length as the site's own script sees it."""
    text = "https://example.com/one|two|three"
    facets: Any = [{"index": {"byteStart": 0, "byteEnd": len(text)}, "features": [LINK]}]
    assert shown_text(text, facets) == "example.com/one%7Ctwo%7C..."
