"""Base classes of requests, which are strict, and of answers, which are lenient."""

from __future__ import annotations

import copyreg
import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue, PrivateAttr


class OpenErrataError(Exception):
    """Base of everything that this package raises. It can be sent to another process, as all exceptions can."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # typeshed lacks it


class UnreadableAnswerError(OpenErrataError, ValueError):
    """The server's answer is not what this version of the package understands. Is the address that of an instance?"""


def parse_json(body: bytes | str) -> Any:  # JSON, whose form its reader checks
    """Parse JSON. Raises: ValueError: it is not JSON, or nested too deeply for this process."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class Question(BaseModel):
    """Base of what a client sends: an option that does not exist is an error before anything is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(BaseModel):
    """Base of what a server says: fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    _received: Mapping[str, JsonValue] = PrivateAttr(default_factory=dict)

    @classmethod
    def read(cls, body: bytes | str) -> Self:
        """Read JSON, and keep it as `received`. Raises: UnreadableAnswerError."""
        try:
            received = parse_json(body)
            answer = cls.model_validate(received)
        except ValueError as error:
            raise UnreadableAnswerError(f"The server's answer is not a {cls.__name__}: {error}") from None
        answer._received = received
        return answer

    @property
    def received(self) -> Mapping[str, JsonValue]:
        """The document exactly as it was received; empty for a part of one."""
        return self._received
