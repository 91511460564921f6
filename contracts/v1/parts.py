"""Values shared by events.

Everything is frozen and extensible: consumers ignore unknown fields. Names of platforms and analyses are open strings,
so a new site or kind of analysis changes no contract.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Provenance = Literal["SERVER_VERIFIED", "CLIENT_FALLBACK"]
Origin = Literal["ORIGINAL", "APPEAL", "RETRACTION", "CONTROL"]
MarkdownSource = Literal["SERVER_HTML", "CLIENT_HTML", "NONE"]
PictureStatus = Literal["used", "duplicate", "omitted", "unavailable"]
SourceStatus = Literal["found", "missing", "unavailable", "unchecked"]

EPHEMERAL = "until"
"""The place of texts that expire."""
INLINE_BYTES = 16_384
"""Texts up to this many UTF-8 bytes are stored inside the event; longer ones in the blob store under their hash."""


class Value(BaseModel):
    """Base of everything inside an event: immutable, tolerant of fields added later."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


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
    """A text by its hash; `inline` has the text if it is small, otherwise it is a UTF-8 blob under the same hash.

    Shapes: `under` is the blob's prefix if it is not the common one: the prefix of the step that the text answers,
    where it can be found without its hash. A small answer is stored there only if its event could not be stored.
    Units: `sha256` and `size_bytes` are of the UTF-8 bytes.
    """

    sha256: Sha256
    size_bytes: int = Field(ge=0)
    inline: str | None = None
    under: str | None = None


def _whole_hour(moment: datetime) -> datetime:
    hour = moment.astimezone(UTC)
    if hour != hour.replace(minute=0, second=0, microsecond=0):
        raise ValueError("`until` must be a whole hour")
    return hour


class EphemeralRef(Value):
    """A text that is deleted at the hour `until`: never inside an event, and in no backup.

    Shapes: `answers` is the step that the text answers, by which a retry of the step finds it, or a folder of the job,
    with which it is removed.
    Units: `until` is a whole hour in UTC; `sha256` and `size_bytes` are of the UTF-8 bytes.
    """

    sha256: Sha256
    size_bytes: int = Field(ge=0)
    until: Annotated[AwareDatetime, AfterValidator(_whole_hour)]
    answers: str | None = Field(default=None, pattern=r"^[0-9A-Za-z/_-]+$")

    @property
    def place(self) -> str:
        """The place of the text, which begins with the hour, so that a sweep can delete all texts of an hour."""
        return f"{ephemeral_place(self.until, self.answers)}/{self.sha256}"

    @property
    def name(self) -> str:
        """The whole name of the text. It ends with the size, so that the reference can be read from the name."""
        return f"{self.place}/{self.size_bytes}"

    def has_expired(self, now: datetime) -> bool:
        """Whether the text has expired: the hour was promised, so the wall clock decides."""
        return self.until <= now


def ephemeral_place(until: datetime, answers: str | None = None) -> str:
    """The place of texts that expire at this hour in UTC, or of those that answer a step."""
    hour = f"{EPHEMERAL}/{until.astimezone(UTC):%Y-%m-%d/%H}"
    return hour if answers is None else f"{hour}/answers/{answers}"


class ImageOccurrence(Value):
    """One picture in a post.

    Units: `normalized_text_offset` counts UTF-16 code units of the normalised text before the picture.
    Source: docs/protocol.md 3.3.
    """

    original_index: int = Field(ge=0)
    normalized_text_offset: int = Field(ge=0)
    source_url: str
    caption_text: str | None = None


class Picture(ImageOccurrence):
    """One picture in a post, and its status when the input was frozen.

    Shapes: only a `used` picture has a `blob`; `same_as` is the original index of the used picture whose bytes a
    `duplicate` repeats; `reason` is the code for why a picture is `omitted` or `unavailable`.
    """

    status: PictureStatus
    blob: BlobRef | None = None
    same_as: int | None = None
    reason: str | None = None


class Author(Value):
    """One identity on one platform; never merged across platforms (requirements 2.7)."""

    platform_user_id: str
    display_name: str


class Source(Value):
    """A public page that contradicts a claim, with the words that do."""

    url: str
    title: str
    snippet: str


class CheckedSource(Value):
    """The result of checking one source, in the order of the claim's sources.

    A source is the page that its address led to: `url` is that page's, `cited_url` the candidate's if that redirected.
    Shapes: `found`: every quoted snippet is in the page's text; `missing`: the page was fetched and a snippet is not in
    it; `unavailable`: the page could not be fetched, for this `reason`; `unchecked`: no check was made. If the page was
    fetched, `page` has the bytes from `final_url` at `fetched_at`, and `content_type` is the response's, by which they
    were decoded.
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
    """The instructions of a run; `sha256` is of `text`. The text never changes under the same version."""

    version: str
    sha256: Sha256
    text: str


class ModelName(Value):
    """The provider, the requested model and, if known, the exact version that answered."""

    provider: str
    model: str
    version: str | None = None

    @property
    def answered(self) -> str:
        """The model that answered: its version alone if that begins with the model's name, else `<model>@<version>`."""
        if self.version is None or self.version.startswith(self.model):
            return self.version or self.model
        return f"{self.model}@{self.version}"


class Usage(Value):
    """Tokens used and money spent by one attempt, all calls together.

    Units: `cost_micro_usd` is millionths of a US dollar, None if the model's price is not known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    cost_micro_usd: int | None = None

    def plus(self, other: Usage) -> Usage:
        """The sum of both; of values that only one of them has, that value."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_input_tokens=_add(self.cached_input_tokens, other.cached_input_tokens),
            reasoning_output_tokens=_add(self.reasoning_output_tokens, other.reasoning_output_tokens),
            cost_micro_usd=_add(self.cost_micro_usd, other.cost_micro_usd),
        )


def _add(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


class Objection(Value):
    """A reader's objection to an earlier result that an operator lets a run examine.

    `findings` are the sentences of the earlier result's findings that the objection names.
    """

    appeal_id: UUID
    kind: Literal["FALSE_POSITIVE", "FALSE_NEGATIVE", "CONTEXT"]
    findings: tuple[str, ...] = ()
    text: str = Field(min_length=1, max_length=4_000)
    links: tuple[str, ...] = Field(default=(), max_length=5)


class InvestigationInput(Value):
    """What a run investigates, frozen when its first attempt starts.

    `content` is the normalised text, its hash the content hash. `markdown` is None exactly if its source is NONE.
    In it `[<image_marker>:<n>]` stands for the picture with original index n. `pictures` are all of the version's.
    An update run has a parent, a diff from the parent's text, and `old_claims`, the parent's findings. A run for an
    appeal has its `objection`.
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
    objection: Objection | None = None
