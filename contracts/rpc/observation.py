"""`post.registerObservedVersion`: what a reader's browser saw.

The module of each site in `platforms` defines its own fields; those here are shared by all sites.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contracts.rpc.values import (
    Count,
    Identifier,
    NonEmpty,
    ObservedText,
    Optional,
    PictureUrl,
    PlatformName,
    Request,
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


class SiteMetadata(Request):
    """A post's metadata; each site adds its own fields."""


class MetadataWithHtml(SiteMetadata):
    """Metadata of a site whose HTML is sent."""

    html_content: Optional[NonEmpty] = None


class Observed(Request):
    """An observation of a post; the class of each site narrows `platform` and `metadata`."""

    platform: str
    url: Url
    observed_image_urls: Optional[WebPictures] = None
    observed_image_occurrences: Optional[
        Annotated[tuple[ObservedImage, ...], Field(max_length=MAX_OCCURRENCES, fail_fast=True)]
    ] = None
    metadata: SiteMetadata


class ObservedWithId(Observed):
    """An observation of a site whose pages state the post's id."""

    external_id: Identifier


class ObservedWithText(Observed):
    """An observation of a site whose text is read in the browser; otherwise it is extracted from the HTML."""

    observed_content_text: ObservedText


class RegisteredVersion(Wire):
    """The answer: the version that was observed."""

    platform: PlatformName
    external_id: NonEmpty
    version_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    post_version_id: NonEmpty
    provenance: Provenance
