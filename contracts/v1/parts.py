"""Values shared by events.

Everything is frozen and open to growth: readers ignore fields they do not know. Platform and analysis names are open
strings, so a new site or a new kind of analysis changes no contract.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Provenance = Literal["SERVER_VERIFIED", "CLIENT_FALLBACK"]
MarkdownSource = Literal["SERVER_HTML", "CLIENT_HTML", "NONE"]
PictureStatus = Literal["used", "duplicate", "omitted", "unavailable"]
SourceStatus = Literal["found", "missing", "unavailable", "unchecked"]

EPHEMERAL = "until"
"""The folder of the blob store for words that are kept until an hour."""
INLINE_BYTES = 16_384
"""Texts up to this many UTF-8 bytes travel inside an event; longer ones lie in the blob store under their hash."""


class Value(BaseModel):
    """Base of everything inside an event: immutable, tolerant of fields added later."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PostRef(Value):
    """One post as its site names it, e.g. ("WIKIPEDIA", "en:736")."""

    platform: str = Field(min_length=1)
    external_id: str = Field(min_length=1)


class BlobRef(Value):
    """Bytes in the blob store, under the lower-case hex SHA-256 of their content."""

    sha256: Sha256
    size_bytes: int = Field(ge=0)
    media_type: str = "application/octet-stream"


class TextRef(Value):
    """A text by hash; `inline` holds it when it is small, otherwise it is a UTF-8 blob under the same hash.

    Shapes: `under` is the place of that blob if it is not the common one: that of the step it is the answer to, where
    whoever does not know its hash finds it. A small answer lies there only if its event could not be stored.
    Units: `sha256` and `size_bytes` are of the UTF-8 bytes.
    """

    sha256: Sha256
    size_bytes: int = Field(ge=0)
    inline: str | None = None
    under: str | None = None


def _whole_hour(moment: datetime) -> datetime:
    hour = moment.astimezone(UTC)
    if hour != hour.replace(minute=0, second=0, microsecond=0):
        raise ValueError("words are kept until a whole hour")
    return hour


class EphemeralRef(Value):
    """Words that are kept until an hour and then gone: never inside an event, and in no backup.

    Shapes: `answers` is the step that they are the answer to, if they are one; whoever has to do that step again finds
    them by it. Units: `until` is a whole hour in UTC; `sha256` and `size_bytes` are of the UTF-8 bytes.
    """

    sha256: Sha256
    size_bytes: int = Field(ge=0)
    until: Annotated[AwareDatetime, AfterValidator(_whole_hour)]
    answers: str | None = Field(default=None, pattern=r"^[0-9A-Za-z/_-]+$")

    @property
    def under(self) -> str:
        """The place of the blob, which a sweep finds by the hour alone."""
        return ephemeral_place(self.until, self.answers)

    def has_expired(self, now: datetime) -> bool:
        """Whether its hour has come: a date that was promised, not a lifetime that is measured."""
        return self.until <= now


def ephemeral_place(until: datetime, answers: str | None = None) -> str:
    """Where words that are kept until this hour lie; those that answer a step, under its name."""
    hour = f"{EPHEMERAL}/{until:%Y-%m-%dT%H}"
    return hour if answers is None else f"{hour}/answers/{answers}"


class ImageOccurrence(Value):
    """One picture in a post.

    Units: `normalized_text_offset` counts UTF-16 code units of the normalised text before the picture.
    Source: CONTRACT section 4.3.
    """

    original_index: int = Field(ge=0)
    normalized_text_offset: int = Field(ge=0)
    source_url: str
    caption_text: str | None = None


class Picture(ImageOccurrence):
    """One picture in a post, and what became of it when the input was frozen.

    Shapes: `blob` is there exactly if it is `used`; `same_as` is the original index of the used picture whose bytes a
    `duplicate` repeats; `reason`, a short code, says why a picture is `omitted` or `unavailable`.
    """

    status: PictureStatus
    blob: BlobRef | None = None
    same_as: int | None = None
    reason: str | None = None


class Author(Value):
    """One identity on one platform; never merged across platforms (specification 2.7)."""

    platform_user_id: str
    display_name: str


class Observation(Value):
    """What one reader's browser saw. `metadata` holds the platform's own fields, without any HTML.

    `network_key` is the hash of the reader's address range, made as that of a view; None in older facts.
    """

    observation_id: UUID
    post: PostRef
    url: str
    text: TextRef | None = None
    html: TextRef | None = None
    image_urls: tuple[str, ...] = ()
    occurrences: tuple[ImageOccurrence, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    attested: bool | None = None
    network_key: Sha256 | None = None


class CanonicalPage(Value):
    """The page as its site served it to us; `post` is the identity the site states.

    `url` and `metadata` are the post's address and what the site says about it, under the names that an observation
    uses; they hold whatever a reader says. None in `metadata` means that the site knows of none. `text` is the
    normalised text of `html`.
    """

    post: PostRef
    source_url: str
    html: TextRef
    revision_id: str | None = None
    fetched_at: datetime
    url: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    text: TextRef | None = None


class Sighting(Value):
    """What an observation says about a version beyond its content; the newest one wins where a field may change.

    `attested`: whether the browser's signature was right; None if it gave none. `site_confirmed`: address, titles and
    author are the site's own words, and one that is not there is one that the site does not name; otherwise they are a
    reader's. None in older facts, where `server_html` tells. `network_key` is the observation's.
    """

    observation_id: UUID
    url: str
    author: Author | None = None
    server_html: TextRef | None = None
    client_html: TextRef | None = None
    image_urls: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    attested: bool | None = None
    site_confirmed: bool | None = None
    network_key: Sha256 | None = None


class Source(Value):
    """A public page that contradicts a claim, with the words that do."""

    url: str
    title: str
    snippet: str


class CheckedSource(Value):
    """What became of one source when a validator went to look; in the order of the claim's sources.

    A source is the page that its address led to: `url` is that page's, `cited_url` the candidate's if that redirected.
    Shapes: `found`: every quoted snippet is in the page's text; `missing`: the page was had and a snippet is not in it;
    `unavailable`: the page could not be had, `reason` says why; `unchecked`: nobody looked. `page` holds the bytes as
    they were fetched from `final_url` at `fetched_at`, exactly if the page was had; `content_type` is what its site
    said of them, by which they were read.
    """

    url: str
    status: SourceStatus
    reason: str | None = None
    final_url: str | None = None
    page: BlobRef | None = None
    fetched_at: datetime | None = None
    content_type: str | None = None
    cited_url: str | None = None


class ClaimPayload(Value):
    """A sentence found wrong. `text` is verbatim in the post's normalised text and `context` contains `text`."""

    text: str
    context: str
    summary: str
    reasoning: str
    sources: tuple[Source, ...] = Field(min_length=1)


class PublishedClaim(Value):
    """A claim that passed validation, as it is shown to readers."""

    claim_id: UUID
    payload: ClaimPayload


class Prompt(Value):
    """The instructions a run was given; `sha256` is of `text`. Text never changes under the same version."""

    version: str
    sha256: Sha256
    text: str


class ModelName(Value):
    """Who answers: the provider, the model asked for and, when known, the exact version that answered."""

    provider: str
    model: str
    version: str | None = None


class Usage(Value):
    """Tokens and money spent by one attempt, all calls together.

    Units: `cost_micro_usd` is millionths of a US dollar, None if the model's price is not known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    cost_micro_usd: int | None = None


class InvestigationInput(Value):
    """What a run investigates, frozen when its first attempt starts.

    `content` is the normalised text, its hash the content hash. `markdown` is None exactly if its source is NONE.
    In it `[<image_marker>:<n>]` stands for the picture with original index n. `pictures` are all of the version's.
    An update run has a parent, a diff from the parent's text, and `old_claims`, the parent's findings.
    """

    provenance: Provenance
    platform: str
    url: str
    author_name: str | None = None
    published_at: datetime | None = None
    has_video: bool = False
    content: TextRef
    markdown_source: MarkdownSource = "NONE"
    markdown: TextRef | None = None
    markdown_renderer_version: str | None = None
    image_marker: str | None = None
    pictures: tuple[Picture, ...] = ()
    parent_investigation_id: UUID | None = None
    content_diff: TextRef | None = None
    old_claims: tuple[PublishedClaim, ...] = ()
