"""A site's metadata in the read model: a JSON document, validated by the site's own model.

Metadata comes from readers' browsers: a value that does not fit its field is dropped, because a row that the database
rejects would block all later events of that version. Without a required field there is no document.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue

from contracts.rpc.values import NAME_CHARACTERS, TITLE_CHARACTERS, wire_instant

_INT_MAX: Final = 2**31 - 1

Document = dict[str, JsonValue]


class StoredMetadata(BaseModel):
    """Base of one site's stored metadata, whose fields have the types below."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _read_text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _read_title(value: JsonValue) -> str | None:
    return value[:TITLE_CHARACTERS] if isinstance(value, str) and value else None


def _read_name(value: JsonValue) -> str | None:
    return value[:NAME_CHARACTERS] if isinstance(value, str) and value else None


def _read_count(value: JsonValue) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return min(int(value), _INT_MAX)


def _read_moment(value: JsonValue) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return wire_instant(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _read_texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


Text = Annotated[str, BeforeValidator(_read_text)]
OptionalText = Annotated[str | None, BeforeValidator(_read_text)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_read_texts)]
Title = Annotated[str, BeforeValidator(_read_title)]
OptionalTitle = Annotated[str | None, BeforeValidator(_read_title)]
Name = Annotated[str, BeforeValidator(_read_name)]
Count = Annotated[int | None, BeforeValidator(_read_count)]
Moment = Annotated[str | None, BeforeValidator(_read_moment)]
"""Shapes: a time in UTC with milliseconds, as on the wire."""
