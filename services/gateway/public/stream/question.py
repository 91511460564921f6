"""Requests to `/events`, and the encoding of one event.

An event's id is its sequence in the log, the same on every gateway, so a client can resume at any gateway and time
without gaps or duplicates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs
from uuid import UUID

from contracts.topology import ANALYST_SUBJECTS
from contracts.v1 import EVENTS, PREFIX
from services.gateway.domain import parse_number

SHOWN: Final[tuple[str, ...]] = tuple(
    event.SUBJECT
    for event in EVENTS
    if any(f"{event.SUBJECT}.".startswith(subject.removesuffix(">")) for subject in ANALYST_SUBJECTS)
)
"""The public subjects: approved claims and results, as for the broker's account for analysts."""

HELLO: Final = b"retry: 1000\n: the id of each event is its sequence in the log\n\n"
MAX_SEQUENCE: Final = 2**63 - 1
_SALT: Final = re.compile(rb',"salt":"[0-9A-Za-z_-]{43}"')
"""The envelope's salt is before the event, so it is the first match."""


class BadQuestion(ValueError):
    """An invalid request; the message is for the client."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to `/events`. `after`: the last event that the client has, None for new events only.

    `types` are subjects without key, all of them if empty. `investigation` is a key.
    """

    after: int | None = None
    types: tuple[str, ...] = ()
    investigation: str | None = None

    @property
    def patterns(self) -> tuple[str, ...]:
        """The subject filters of the request; they do not overlap."""
        if not self.types and self.investigation is None:
            return ANALYST_SUBJECTS
        return tuple(f"{subject}.{self.investigation or '*'}" for subject in self.types or SHOWN)

    def build_filter(self) -> Callable[[str], bool]:
        """A predicate for subjects among `SHOWN`."""
        types, key = frozenset(self.types or SHOWN), self.investigation

        def matches(subject: str) -> bool:
            name, _, of = subject.rpartition(".")
            return name in types and (key is None or key == of)

        return matches


def read_question(query: bytes, last_event_id: str) -> Question:
    """Parse query string and header; the header wins, because a reconnecting browser repeats its first URL.

    Raises: BadQuestion.
    """
    try:
        params = parse_qs(query.decode(), max_num_fields=32, keep_blank_values=True)
    except ValueError:
        raise BadQuestion("The query cannot be read.") from None
    unknown = sorted(params.keys() - {"after", "type", "investigation"})
    if unknown:
        raise BadQuestion("The parameters are `after`, `type` and `investigation`.")
    after = last_event_id or _single(params, "after")
    return Question(
        after=None if after is None else _sequence(after),
        types=_types([name for text in params.get("type", ()) for name in text.split(",")]),
        investigation=_key(_single(params, "investigation")),
    )


def encode_frame(sequence: int, subject: str, data: bytes) -> bytes:
    """Encode one event. `data` is the stored message, JSON without line breaks; its salt is removed."""
    name = subject.rpartition(".")[0]
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (sequence, name.encode(), _SALT.sub(b"", data, count=1))


def _single(params: dict[str, list[str]], name: str) -> str | None:
    values = params.get(name, [])
    if len(values) > 1:
        raise BadQuestion(f"`{name}` can be given once.")
    return values[0] if values else None


def _sequence(text: str) -> int:
    sequence = parse_number(text, 19)
    if sequence is None or sequence > MAX_SEQUENCE:
        raise BadQuestion("`after` and Last-Event-ID are the id of an event: a whole number, 0 for the very beginning.")
    return sequence


def _types(names: Sequence[str]) -> tuple[str, ...]:
    chosen = {name if name.startswith(PREFIX) else f"{PREFIX}{name}" for name in names}
    if not chosen <= set(SHOWN):
        raise BadQuestion(f"`type` is one or more of {', '.join(name.removeprefix(PREFIX) for name in SHOWN)}.")
    return tuple(name for name in SHOWN if name in chosen)


def _key(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return str(UUID(text))
    except ValueError:
        raise BadQuestion("`investigation` must be an id.") from None
