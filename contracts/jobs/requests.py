"""Requests to the job API: an article to be analysed, or a model for a stage. An unknown field is an error."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

import ada_url
from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from contracts.jobs.values import Absent, Document, Stage
from contracts.rpc.values import ShortUrl
from contracts.v1.codes import Name

LABEL_CHARACTERS: Final = 255
TEXT_CHARACTERS: Final = 100_000
"""The longest text, in code points. Counting words is not enough: a text without spaces is one word."""

InputType = Literal["url", "text"]
CachePreference = Literal["prefer_cache", "allow_partial", "skip_cache", "cache_only"]


def _require_https(value: str) -> str:
    if ada_url.URL(value).protocol != "https:":
        raise PydanticCustomError("url", "must be an https address")
    return value


_WebhookUrl = Annotated[ShortUrl, AfterValidator(_require_https)]
_Label = Annotated[str, Field(max_length=LABEL_CHARACTERS)]


class Options(Document):
    """Options of the analysis of an article."""

    browsing: Literal["on", "off"] = "on"
    depth: Literal["standard", "deep"] = "standard"
    max_claims: int = Field(default=5, ge=1, le=10)
    scenarios_per_claim: int = Field(default=2, ge=1, le=5)
    max_evidence_per_scenario: int = Field(default=6, ge=3, le=10)
    context_aware_analysis: bool = True
    cache_preference: CachePreference = "prefer_cache"


class ClientLabels(Document):
    """The client's own labels of its request, and the address for the message at its end."""

    request_id: Absent[_Label] = None
    source_label: Absent[_Label] = None
    webhook_url: Absent[_WebhookUrl] = None


class AnalyzeRequest(Document):
    """An article to be analysed, by its address or as text.

    Units: a text has at most 10,000 words and 100,000 characters.
    """

    input_type: Absent[InputType] = None
    input_url: ShortUrl | None = None
    input_text: Annotated[str, Field(min_length=1)] | None = None
    options: Options = Options()
    client: ClientLabels = ClientLabels()

    @model_validator(mode="after")
    def _has_one_input(self) -> Self:
        if (self.input_url is None) == (self.input_text is None):
            raise PydanticCustomError("input", "exactly one of input_url and input_text must be given")
        if self.input_type not in (None, self.input_kind):
            raise PydanticCustomError("input", "input_type does not say which input is given")
        return self

    @property
    def input_kind(self) -> InputType:
        """The kind of input that is given, even if the request does not name it."""
        return "text" if self.input_url is None else "url"


class ConfigureRequest(Document):
    """The model that a stage uses for jobs that have not begun."""

    stage: Stage
    provider: Annotated[str, Field(min_length=1, max_length=100)]
    model: Name
    max_tokens: int = Field(ge=1, le=200_000)
    temperature: float = Field(ge=0, le=2, allow_inf_nan=False)
