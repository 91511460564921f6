"""The tool `web_search` for a model. Failures are answers too, so that the model can try again within the run.

Results are untrusted text; they are passed on as data inside JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError

from kit.web import WebError

MAX_RESULTS: Final = 10
_SNIPPET_CHARACTERS: Final = 500
_TITLE_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search."""

    title: str
    url: str
    snippet: str


class SearchFailed(Exception):
    """The engine gave no usable answer; the message is one sentence for the model and contains no key."""


class Engine(Protocol):
    """A search engine."""

    async def search(self, query: str) -> Sequence[Hit]:
        """The results of a search, best first. Raises: SearchFailed, WebError."""


@dataclass(frozen=True, slots=True)
class SearchTool:
    """A function as it is offered to the model."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


WEB_SEARCH: Final = SearchTool(
    name="web_search",
    description="Search the public web. Gives titles, addresses and extracts of pages; read a page before citing it.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "A few words, as for any search engine."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class WebSearch:
    """Answers calls of `web_search`; never raises."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, arguments: str) -> str:
        """The answer to a call, as JSON."""
        try:
            query = _Arguments.model_validate_json(arguments).query
        except ValidationError:
            return _refused('the arguments must be {"query": "…"} with at most 400 characters')
        try:
            hits = await self._engine.search(query)
        except SearchFailed as error:
            return _refused(str(error))
        except WebError as error:
            return _refused(error.detail)
        found: list[JsonValue] = [
            {"title": hit.title[:_TITLE_CHARACTERS], "url": hit.url, "snippet": hit.snippet[:_SNIPPET_CHARACTERS]}
            for hit in hits[:MAX_RESULTS]
        ]
        return json.dumps({"ok": True, "query": query, "results": found}, ensure_ascii=False)


def _refused(why: str) -> str:
    return json.dumps({"ok": False, "error": why}, ensure_ascii=False)
