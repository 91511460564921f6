"""What is read of a record is what its page shows; the extension reads pages of the same records."""

from __future__ import annotations

import json
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

CASES: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "cases" / "bluesky_posts.json").read_text(encoding="utf-8")
)
"""Records written by us, and the text of each; extension/tests/platforms/bluesky.test.ts makes pages of them."""
LINK: Final = {"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/"}


@pytest.mark.requirement("FS-53")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_proved_record_has_the_text_that_its_page_shows(case: dict[str, Any]) -> None:
    """FS-53: 60 recorded posts give the same text from page and record."""
    page, _ = walk(signed({POST_PATH: post(**case["record"]), PROFILE_PATH: profile()}, NOW))
    assert get_platform("BLUESKY").extract_text(page.html) == case["text"]


def test_there_are_sixty_of_them() -> None:
    assert len({case["name"] for case in CASES}) == 60


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
