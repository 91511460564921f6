"""Compare the events of two runs. Pure.

Worker, times and storage locations are ignored; everything else is compared byte by byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyses import gates
from analyses.kinds import Kind
from contracts.v1 import Event
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import Prompt

MAX_CHARACTERS: Final = 160
_LOCATION: Final = {"under": True}
_NOT_COMPARED: Final[Mapping[str, bool | Mapping[str, bool]]] = {
    "worker": True,
    "delivery_count": True,
    "retry_at": True,
    "rules": True,
    "segment": _LOCATION,
    "transcript": _LOCATION,
}


@dataclass(frozen=True)
class Difference:
    """A value that changed. Shapes: `where` is a path inside an event."""

    where: str
    recorded: str
    replayed: str


@dataclass(frozen=True)
class Comparison:
    """The replay of one step.

    Shapes: `problem` is why it could not be replayed; `note` is set where there was nothing to replay; `made_under`
    names the rules and prompt it was made by, where they differ from today's.
    """

    step: str
    facts: int
    differences: tuple[Difference, ...] = ()
    problem: str | None = None
    note: str | None = None
    made_under: str | None = None

    @property
    def same(self) -> bool:
        """Whether the events are identical."""
        return not self.differences and self.problem is None

    @property
    def explained(self) -> bool:
        """Whether the difference is expected, because the versions of rules or prompt differ."""
        return bool(self.differences) and self.problem is None and self.made_under is not None


def describe_rules(
    rules: str | None, prompt: Prompt | None, kind: Kind, prompt_now: Prompt, policy: GatePolicy | None = None
) -> str | None:
    """The rules, gates and prompt of a step, where they are not today's; None if they are."""
    changes = []
    if rules != kind.rules:
        changes.append(f"{rules or 'rules that had no number yet'}, today's are {kind.rules}")
    if policy is not None and policy.rules != gates.RULES:
        changes.append(f"{policy.rules}, today's are {gates.RULES}")
    if prompt is not None and prompt.version != prompt_now.version:
        changes.append(f"{prompt.version}, today's is {prompt_now.version}")
    return "; ".join(changes) or None


def diff_events(step: str, then: Sequence[Event], now: Sequence[Event]) -> Iterator[Difference]:
    """Compare recorded events with replayed ones."""
    for place in range(max(len(then), len(now))):
        if place >= len(now):
            yield Difference(f"{step}, fact {place + 1}", _abbreviate(then[place].SUBJECT), "nothing")
        elif place >= len(then):
            yield Difference(f"{step}, fact {place + 1}", "nothing", _abbreviate(now[place].SUBJECT))
        else:
            name = then[place].SUBJECT.removeprefix("errata.v1.")
            if _encode(then[place]) != _encode(now[place]):
                yield from diff_json(name, _dump(then[place]), _dump(now[place]))


def _encode(event: Event) -> bytes:
    return event.__class__.__name__.encode() + event.model_dump_json(exclude=_NOT_COMPARED, exclude_none=True).encode()


def _dump(event: Event) -> dict[str, object]:
    return {"fact": event.SUBJECT, **event.model_dump(mode="json", exclude=_NOT_COMPARED)}


def diff_json(where: str, then: object, now: object) -> Iterator[Difference]:
    """Compare two JSON values; differences by their paths."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*then, *now)):
            yield from diff_json(f"{where}.{name}", then.get(name), now.get(name))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for place, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from diff_json(f"{where}[{place}]", one, other)
    elif then != now:
        yield Difference(where, _abbreviate(then), _abbreviate(now))


def _abbreviate(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}\u2026"


def summarize_error(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
