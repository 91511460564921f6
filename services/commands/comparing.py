"""Where the facts of two runs differ: pure.

Who ran it, when, and where its words are kept is no difference; everything else is, to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analyses.kinds import Kind
from contracts.v1 import Event
from contracts.v1.parts import Prompt

SHOWN_CHARACTERS: Final = 160
_WHERE_IT_LIES: Final = {"under": True}
_NOT_COMPARED: Final[dict[str, Any]] = {
    "worker": True,
    "delivery": True,
    "retry_at": True,
    "rules": True,
    "stretch": _WHERE_IT_LIES,
    "transcript": _WHERE_IT_LIES,
}


@dataclass(frozen=True)
class Difference:
    """One value that is another today. Shapes: `where` is a path inside a fact."""

    where: str
    recorded: str
    replayed: str


@dataclass(frozen=True)
class Compared:
    """One step, run again.

    Shapes: `problem` says why it could not be; `note` that there was nothing to run; `made_under` by what rules or
    prompt it was made, where these are not today's.
    """

    step: str
    facts: int
    differences: tuple[Difference, ...] = ()
    problem: str | None = None
    note: str | None = None
    made_under: str | None = None

    @property
    def same(self) -> bool:
        """Whether the same facts came out, byte for byte."""
        return not self.differences and self.problem is None

    @property
    def explained(self) -> bool:
        """Whether other facts are to be expected: we decide otherwise since, and have said so."""
        return bool(self.differences) and self.problem is None and self.made_under is not None


def earlier(rules: str | None, prompt: Prompt | None, kind: Kind, prompt_now: Prompt) -> str | None:
    """By what a step was decided, if that is not how it is decided today; None if it is."""
    found = []
    if rules != kind.rules:
        found.append(f"{rules or 'rules that had no number yet'}, today's are {kind.rules}")
    if prompt is not None and prompt.version != prompt_now.version:
        found.append(f"{prompt.version}, today's is {prompt_now.version}")
    return "; ".join(found) or None


def differences(step: str, then: Sequence[Event], now: Sequence[Event]) -> Iterator[Difference]:
    """What is another fact, or another value in a fact, than it was then."""
    for place in range(max(len(then), len(now))):
        if place >= len(now):
            yield Difference(f"{step}, fact {place + 1}", _short(then[place].SUBJECT), "nothing")
        elif place >= len(then):
            yield Difference(f"{step}, fact {place + 1}", "nothing", _short(now[place].SUBJECT))
        else:
            name = then[place].SUBJECT.removeprefix("errata.v1.")
            if _stored(then[place]) != _stored(now[place]):
                yield from unlike(name, _dumped(then[place]), _dumped(now[place]))


def _stored(event: Event) -> bytes:
    return event.__class__.__name__.encode() + event.model_dump_json(exclude=_NOT_COMPARED, exclude_none=True).encode()


def _dumped(event: Event) -> dict[str, Any]:
    return {"fact": event.SUBJECT, **event.model_dump(mode="json", exclude=_NOT_COMPARED)}


def unlike(where: str, then: Any, now: Any) -> Iterator[Difference]:
    """Where two JSON values differ, by their paths."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*then, *now)):
            yield from unlike(f"{where}.{name}", then.get(name), now.get(name))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for place, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from unlike(f"{where}[{place}]", one, other)
    elif then != now:
        yield Difference(where, _short(then), _short(now))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}\u2026"


def first_line(error: Exception) -> str:
    """What an error says, for a line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
