"""One good observation per site, to be bent in tests."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from pydantic import JsonValue

from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef


class Sample(NamedTuple):
    """What a browser sends for one post."""

    platform: str
    url: str
    external_id: str
    metadata: dict[str, JsonValue]

    def observation(self, **metadata: JsonValue) -> Observation:
        """The observation, with some metadata changed."""
        return Observation(
            observation_id=UUID(int=1),
            post=PostRef(platform=self.platform, external_id=self.external_id),
            url=self.url,
            metadata={**self.metadata, **metadata},
        )


SAMPLES = {
    sample.platform: sample
    for sample in (
        Sample(
            "LESSWRONG",
            "https://www.lesswrong.com/posts/tea42/on-tea",
            "tea42",
            {"slug": "on-tea", "title": "On tea", "author_name": "Ann Lee", "author_slug": "ann-lee", "tags": []},
        ),
        Sample(
            "X",
            "https://x.com/TeaFan/status/987",
            "987",
            {"author_handle": "teafan", "author_display_name": "Tea Fan", "text": "Tea!", "media_urls": []},
        ),
        Sample(
            "SUBSTACK",
            "https://leaves.substack.com/p/green",
            "555",
            {
                "substack_post_id": "555",
                "publication_subdomain": "leaves",
                "slug": "green",
                "title": "Green",
                "author_name": "Ann Lee",
            },
        ),
        Sample(
            "WIKIPEDIA",
            "https://en.wikipedia.org/wiki/Green_tea",
            "en:77",
            {"language": "en", "title": "Green tea", "page_id": "77", "revision_id": "1234"},
        ),
        Sample(
            "BLUESKY",
            "https://bsky.app/profile/ann.example.com/post/3l6oveex3ii2l",
            "did:plc:ewvi7nxzyoun6zhxrhs64oiz/3l6oveex3ii2l",
            {"author_did": "did:plc:ewvi7nxzyoun6zhxrhs64oiz", "author_handle": "ann.example.com"},
        ),
    )
}
