"""The tool `submit_correction`: its definition and the strict parser of its arguments.

Accepted arguments go into events and the database, so a NUL, which PostgreSQL cannot store, is rejected here.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from analyses.kinds import InvalidSubmission, Tool
from analyses.snippets import find_defect
from contracts.v1.parts import ClaimPayload

ShapeT = TypeVar("ShapeT", bound=BaseModel)

WEB_URL = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s\x00/?#]+[^\s\x00]*$"

QUOTE_CHARACTERS: Final = 4_000
SHORT_CHARACTERS: Final = 2_000
LONG_CHARACTERS: Final = 20_000
ADDRESS_CHARACTERS: Final = 8_192
MAX_SOURCES: Final = 20
"""Limits keep claims short for the reviewing model and for people."""

_PLAIN = StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\x00]*$")
_Quote = Annotated[str, _PLAIN, Field(max_length=QUOTE_CHARACTERS)]
_Short = Annotated[str, _PLAIN, Field(max_length=SHORT_CHARACTERS)]
_Long = Annotated[str, _PLAIN, Field(max_length=LONG_CHARACTERS)]
_WebUrl = Annotated[str, StringConstraints(strip_whitespace=True, pattern=WEB_URL, max_length=ADDRESS_CHARACTERS)]


class Strict(BaseModel):
    """Base of a tool's arguments: no other fields, and no coercion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Source(Strict):
    url: _WebUrl
    title: _Short
    snippet: _Quote


class _Correction(Strict):
    text: _Quote
    context: _Quote
    summary: _Short
    reasoning: _Long
    sources: list[_Source] = Field(min_length=1, max_length=MAX_SOURCES)


def _strings(**descriptions: str) -> dict[str, JsonValue]:
    return {name: {"type": "string", "description": text} for name, text in descriptions.items()}


def strict_object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SUBMIT_CORRECTION = Tool(
    name="submit_correction",
    description="Hand in one statement of the post that is demonstrably wrong, as soon as its evidence is complete.",
    parameters=strict_object(
        {
            **_strings(
                text="The wrong statement, copied word for word from the post, as plain text without Markdown.",
                context="The same words with about ten words of the post before and after them, copied word for word.",
                summary="What is right instead, in one or two sentences, for a reader who sees only this.",
                reasoning="The full explanation in Markdown: what is claimed, what the evidence shows, how we know.",
            ),
            "sources": {
                "type": "array",
                "description": "At least one public page that contradicts the statement.",
                "items": strict_object(
                    _strings(
                        url="Address of the page, http or https.",
                        title="Title of the page.",
                        snippet="The words of the page that contradict the statement.",
                    )
                ),
            },
        }
    ),
)


def parse_correction(arguments: str) -> ClaimPayload:
    """Parse the arguments of `submit_correction`. Raises: InvalidSubmission, whose message does not repeat them.

    A snippet that no page could match is rejected here, while the model can still correct it.
    """
    given = parse_arguments(arguments, _Correction)
    found = enumerate(find_defect(each.snippet) for each in given.sources)
    if reason := "; ".join(f"sources.{place}.snippet: {problem}" for place, problem in found if problem):
        raise InvalidSubmission(reason)
    return ClaimPayload.model_validate(given.model_dump())


def parse_arguments(arguments: str, shape: type[ShapeT]) -> ShapeT:
    """Parse a call's arguments. Raises: InvalidSubmission, whose message does not repeat them."""
    try:
        return shape.model_validate_json(arguments)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
    raise InvalidSubmission(
        "; ".join(f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in found)
    )
