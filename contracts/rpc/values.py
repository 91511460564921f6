"""Field types of the wire: the strings and numbers in requests and answers.

They follow the published client's own rules (docs/protocol.md 2.0), with one restriction of ours: the URL of a page is
http(s), because readers see it as a link. Stored data relies on these rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Final, TypeVar

import ada_url
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError

TEXT_BYTES: Final = 500_000
URL_CHARACTERS: Final = 2_048
TITLE_CHARACTERS: Final = 1_000
NAME_CHARACTERS: Final = 300
SAFE_INTEGER: Final = 2**53 - 1

T = TypeVar("T")
Parsed = TypeVar("Parsed")

JS_WHITE_SPACE: Final = (
    "\t\n\v\f\r \xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters that JavaScript's `trim` removes; those of Python's `strip` differ in both directions."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INSTANT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]+))?)?Z"
)
_NUL: Final = PydanticCustomError("nul", "a string holds a NUL")
_ESCAPED_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Wire(BaseModel):
    """Base of everything on this wire: immutable, camelCase, no unknown keys, no coercion."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class Request(Wire):
    """Base of requests: only the wire's own names are accepted."""

    model_config = ConfigDict(validate_by_name=False)


class _NeverNull:
    """Makes an optional field one that may be absent but not null."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable = handler(source)
        assert nullable["type"] == "nullable"
        present: CoreSchema = nullable["schema"]
        return present


Optional = Annotated[T | None, _NeverNull()]


def _absolute_url(value: str) -> str:
    trimmed = value.strip(JS_WHITE_SPACE)
    if not ada_url.check_url(trimmed):
        raise PydanticCustomError("url", "must be an absolute URL")
    return trimmed


def _web_url(value: str) -> str:
    trimmed = _absolute_url(value)
    if not is_web_url(trimmed):
        raise PydanticCustomError("url", "must be an absolute http or https URL")
    return trimmed


def is_web_url(url: str) -> bool:
    """Whether an absolute URL is http or https, so that it may be stored, shown and fetched.

    An observation may have forty thousand URLs, and parsing one takes ten times as long as checking how it begins.
    """
    scheme = _SCHEME.match(url)
    return (ada_url.URL(url).protocol if scheme is None else scheme[0].lower()) in ("http:", "https:")


def is_storable_picture(url: str) -> bool:
    """Whether a picture's URL is http or https and not longer than the limit for a page's."""
    return len(url) <= URL_CHARACTERS and is_web_url(url)


def _drop_unstorable(urls: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(url for url in urls if is_storable_picture(url))


def _to_integer(value: object) -> object:
    """JavaScript has one kind of number: 1.0 is the integer 1."""
    return int(value) if type(value) is float and value.is_integer() else value


def _canonical_instant(value: str) -> str:
    match = _INSTANT.fullmatch(value)
    try:
        if match is None:
            raise ValueError
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        raise PydanticCustomError("datetime", "must be an ISO 8601 date and time that ends in Z") from None
    milliseconds = (match[7] or "")[:3].ljust(3, "0")
    return f"{match[1]}-{match[2]}-{match[3]}T{match[4]}:{match[5]}:{match[6] or '00'}.{milliseconds}Z"


def _check_size(value: str) -> str:
    if len(value.encode()) > TEXT_BYTES:
        raise PydanticCustomError("too_long", f"must not exceed {TEXT_BYTES} UTF-8 bytes")
    return value


def _cut(characters: int) -> AfterValidator:
    return AfterValidator(lambda value: value[:characters])


def _drop_long(value: str) -> str | None:
    return value if len(value) <= TITLE_CHARACTERS else None


def _check_platform(value: str, reading: ValidationInfo) -> str:
    if reading.context is not None and value not in reading.context:
        raise PydanticKnownError(
            "literal_error", {"expected": _join_alternatives([repr(name) for name in reading.context])}
        )
    return value


def _join_alternatives(names: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def wire_instant(value: datetime) -> str:
    """Format as `YYYY-MM-DDTHH:MM:SS.mmmZ`, the only form of a date that the extension accepts."""
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


NonEmpty = Annotated[str, Field(min_length=1)]
PlatformName = Annotated[str, AfterValidator(_check_platform), Field(json_schema_extra={"format": "platform"})]
"""Any name here; `read` limits it to the names that the caller passes."""
Identifier = Annotated[str, Field(min_length=1, max_length=300)]
"""The site's id of a post or a person. The limit lets two of them fit an index entry. Units: code points."""
Title = Annotated[str, Field(min_length=1), _cut(TITLE_CHARACTERS)]
"""A heading on a page, cut at the limit."""
PersonName = Annotated[str, Field(min_length=1), _cut(NAME_CHARACTERS)]
"""A person's name on a page, cut at the limit."""
TitleMarkup = Annotated[str, Field(min_length=1), AfterValidator(_drop_long)]
"""A heading with markup, which cannot be cut; one beyond the limit counts as absent."""
Digits = Annotated[str, Field(pattern=r"^[0-9]+$", max_length=300)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$", max_length=63)]
Sha256Hex = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]
Url = Annotated[str, AfterValidator(_web_url), Field(json_schema_extra={"format": "uri"})]
ShortUrl = Annotated[
    str, Field(max_length=URL_CHARACTERS), AfterValidator(_web_url), Field(json_schema_extra={"format": "uri"})
]
"""The length is checked first: behind a validator the library calls characters items."""
PictureUrl = Annotated[str, AfterValidator(_absolute_url), Field(json_schema_extra={"format": "uri"})]
"""Any absolute URL: the published client also sends those that only the browser can load (`blob:`)."""
WebPictures = Annotated[tuple[PictureUrl, ...], Field(fail_fast=True), AfterValidator(_drop_unstorable)]
"""URLs of pictures; those that cannot be stored are dropped, since the page and not the reader chose them."""
Count = Annotated[int, BeforeValidator(_to_integer), Field(ge=0, le=SAFE_INTEGER)]
InstantText = Annotated[str, AfterValidator(_canonical_instant), Field(json_schema_extra={"format": "date-time"})]
Instant = Annotated[datetime, PlainSerializer(wire_instant)]

ObservedText = Annotated[str, Field(min_length=1), AfterValidator(_check_size)]
"""The text on a reader's page. Units: the client also limits UTF-16 units to 500,000, but a text never has more of
those than bytes."""


def read(shape: TypeAdapter[Parsed], body: bytes, platforms: Sequence[str] | None = None) -> Parsed:
    """Parse a request. A NUL in any string is an error, since PostgreSQL cannot store it.

    Shapes: `platforms` are the allowed names of sites, None for any.

    Raises: pydantic.ValidationError; lone surrogates, bad UTF-8 and deep nesting are rejected by the parser itself.
    """
    if b"\\u0000" in body and _ESCAPED_NUL.search(body):
        raise ValidationError.from_exception_data("request", [{"type": _NUL, "loc": (), "input": None}])
    return shape.validate_json(body, context=platforms)
