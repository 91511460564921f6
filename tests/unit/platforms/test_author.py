"""Who wrote a post, in each site's own terms."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from platforms import get_platform

LONG = "Ann Lee " * 40
"""A name of the site's; the gateway cuts the reader's."""
AUTHORS: list[tuple[str, dict[str, JsonValue], tuple[str, str] | None]] = [
    ("LESSWRONG", {"author_slug": "ann-lee", "author_name": "Ann Lee"}, ("ann-lee", "Ann Lee")),
    ("LESSWRONG", {"author_slug": "ann-lee"}, ("ann-lee", "ann-lee")),
    ("LESSWRONG", {"author_slug": None, "author_name": "Ann LEE"}, ("name:ann lee", "Ann LEE")),
    ("LESSWRONG", {}, None),
    ("X", {"author_handle": "TeaFan", "author_display_name": "Tea Fan"}, ("TeaFan", "Tea Fan")),
    ("X", {"author_handle": "TeaFan", "author_display_name": None}, ("TeaFan", "TeaFan")),
    ("X", {}, None),
    ("SUBSTACK", {"author_substack_handle": "ann", "author_name": "Ann"}, ("ann", "Ann")),
    ("SUBSTACK", {"author_name": "Ann", "publication_subdomain": "leaves"}, ("publication:leaves:name:ann", "Ann")),
    ("SUBSTACK", {"author_name": "Ann"}, None),
    ("LESSWRONG", {"author_name": LONG}, (f"name:{LONG[:300].lower()}", LONG[:300])),
    (
        "SUBSTACK",
        {"author_name": LONG, "publication_subdomain": "leaves"},
        (f"publication:leaves:name:{LONG[:300].lower()}", LONG[:300]),
    ),
    ("WIKIPEDIA", {"title": "Green tea"}, None),
]


@pytest.mark.requirement("2.7-01", "2.7-04", "3.9-11")
@pytest.mark.parametrize(("name", "metadata", "expected"), AUTHORS)
def test_authors(name: str, metadata: dict[str, JsonValue], expected: tuple[str, str] | None) -> None:
    """2.7-01: Author entity per platform identity, linked to posts.
    2.7-04: No cross-platform merging.
    3.9-11: Wikipedia no author.
    """
    author = get_platform(name).author(metadata)
    assert (author and (author.platform_user_id, author.display_name)) == expected
