"""`post.registerObservedVersion`: what a reader's browser saw, by platform.

The platform decides which fields exist; a LessWrong page comes as HTML only and a Wikipedia page has no id of its
own, since both are derived here from what the site says.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from contracts.rpc.values import (
    TITLE_CHARACTERS,
    Count,
    Digits,
    Identifier,
    InstantText,
    Language,
    NonEmpty,
    ObservedText,
    Optional,
    PictureUrl,
    PlatformName,
    Request,
    Title,
    TitleMarkup,
    Url,
    WebPictures,
    Wire,
)
from contracts.v1.parts import Provenance

MAX_OCCURRENCES: Final = 256


class ObservedImage(Request):
    """One picture. Units: `normalized_text_offset` counts UTF-16 units of the normalised text before it."""

    original_index: Count
    normalized_text_offset: Count
    source_url: PictureUrl
    caption_text: Optional[NonEmpty] = None


class LessWrongMetadata(Request):
    slug: Identifier
    title: Optional[Title] = None
    html_content: NonEmpty
    author_name: Optional[Identifier] = None
    author_slug: Identifier | None = None
    tags: tuple[NonEmpty, ...]
    published_at: Optional[InstantText] = None


class XMetadata(Request):
    author_handle: Identifier
    author_display_name: Identifier | None = None
    text: ObservedText
    media_urls: WebPictures
    like_count: Optional[Count] = None
    retweet_count: Optional[Count] = None
    posted_at: Optional[InstantText] = None


class SubstackMetadata(Request):
    substack_post_id: Digits
    publication_subdomain: Identifier
    slug: Identifier
    title: Title
    subtitle: Optional[Title] = None
    html_content: Optional[NonEmpty] = None
    author_name: Identifier
    author_substack_handle: Optional[Identifier] = None
    published_at: Optional[InstantText] = None
    like_count: Optional[Count] = None
    comment_count: Optional[Count] = None


class WikipediaMetadata(Request):
    language: Language
    title: Annotated[str, Field(min_length=1, max_length=TITLE_CHARACTERS)]
    page_id: Digits
    revision_id: Digits
    display_title: Optional[TitleMarkup] = None
    last_modified_at: Optional[InstantText] = None
    html_content: Optional[NonEmpty] = None


class _Observed(Request):
    url: Url
    observed_image_urls: Optional[WebPictures] = None
    observed_image_occurrences: Optional[Annotated[tuple[ObservedImage, ...], Field(max_length=MAX_OCCURRENCES)]] = None


class ObservedLessWrong(_Observed):
    platform: Literal["LESSWRONG"]
    external_id: Identifier
    metadata: LessWrongMetadata


class ObservedX(_Observed):
    platform: Literal["X"]
    external_id: Identifier
    observed_content_text: ObservedText
    metadata: XMetadata


class ObservedSubstack(_Observed):
    platform: Literal["SUBSTACK"]
    external_id: Identifier
    observed_content_text: ObservedText
    metadata: SubstackMetadata


class ObservedWikipedia(_Observed):
    platform: Literal["WIKIPEDIA"]
    observed_content_text: ObservedText
    metadata: WikipediaMetadata


ObservedVersion = Annotated[
    ObservedLessWrong | ObservedX | ObservedSubstack | ObservedWikipedia, Field(discriminator="platform")
]


class RegisteredVersion(Wire):
    """The answer: which version this is."""

    platform: PlatformName
    external_id: NonEmpty
    version_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    post_version_id: NonEmpty
    provenance: Provenance
