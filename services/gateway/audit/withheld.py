"""What a model submitted and nobody published: whether a text of the audit repeats any of it.

Most rejected candidates are true sentences, so their words must not come back by another way: in a search, in an error,
or in what the model thought. A text repeats them if it has as few as five of their words in a row, however it is
written. It does not follow that a text without them says nothing of a candidate: words can be put otherwise. So what
the model says at length is not searched but kept back whole (decision 0044).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote_plus

from analyses import retaining
from analyses.research import AUTHOR_HISTORY, FETCH_URL
from contracts.composed import nfkc

LOOKUPS: Final = frozenset({FETCH_URL.name, AUTHOR_HISTORY.name, retaining.NAME, "web_search"})
"""Functions whose arguments are shown: they ask for something. Any other call submits something, or tries to."""
ARGUMENTS: Final = ("arguments", "input")
"""Where providers put what a call is made with."""
MARK: Final = "[withheld]"
RUN: Final = 5
LONGEST: Final = 20_000
"""Units: characters. No search or address is longer; what is, such as an encrypted page, is not read but left out."""
MOST: Final = 500_000
"""Units: characters. Where more than that was submitted and not published, no text is compared: all are kept back."""
_DEEPEST: Final = 16

_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""Of scripts that do not part words, each character counts as one."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")

Words = tuple[str, ...]


def words(text: str) -> Words:
    """The words of a text, whatever their case, their punctuation, their spacing and their escapes in an address."""
    return tuple(_WORD.findall(nfkc(_UNSEEN.sub("", unquote_plus(text))).casefold()))


class Withheld:
    """What was submitted and not published. Shapes: `candidates` as {state, payload}; `calls` are recorded payloads.

    A submission counts as published if a published candidate has its summary or its quote: the rest of it
    may have been brought into form. False if there is nothing.
    """

    def __init__(self, candidates: Iterable[Mapping[str, Any]], calls: Iterable[Any] = ()) -> None:
        published: list[Mapping[str, Any]] = []
        kept_back: list[Any] = []
        for each in candidates:
            (published if each["state"] == "APPROVED" else kept_back).append(each["payload"])
        known = {said for each in published for said in _keys(each)}
        kept_back += (each for each in _submissions(calls) if known.isdisjoint(_keys(each)))
        self._any = bool(kept_back)
        said = [text for each in kept_back for text in _said(each)]
        self._too_much = sum(map(len, said)) > MOST
        runs = set() if self._too_much else {run for text in said for run in _runs(words(text))}
        sizes = {len(run) for run in runs}
        for each in published:
            for text in _said(each):
                runs.difference_update(_windows(words(text), sizes))
        self._runs = runs
        self._sizes = {len(run) for run in runs}

    def __bool__(self) -> bool:
        return self._any

    def repeats(self, text: str) -> bool:
        """Whether a text has words of what was not published; also if it, or that, is too long to say."""
        if not self._any:
            return False
        if self._too_much or len(text) > LONGEST:
            return True
        return not self._runs.isdisjoint(_windows(words(text), self._sizes))

    def without(self, value: Any, depth: int = 0) -> Any:
        """A JSON value with MARK for every text in it that repeats them; JSON inside a text is looked into."""
        if not self._any:
            return value
        if depth > _DEEPEST:
            return MARK
        match value:
            case str():
                if self.repeats(value):
                    return MARK
                inner = _document(value)
                return value if inner is None or self.without(inner, depth + 1) == inner else MARK
            case Mapping():
                return {
                    name: self.without(each, depth + 1) for name, each in value.items() if not self.repeats(str(name))
                }
            case list() | tuple():
                return [self.without(each, depth + 1) for each in value]
        return value


def called(payload: Any) -> tuple[Mapping[str, Any], str | None]:
    """Where a recorded call has its name and its arguments, and the name; None: a tool that has no name."""
    if not isinstance(payload, Mapping):
        return {}, None
    function = payload.get("function")
    named = function if isinstance(function, Mapping) else payload
    name = named.get("name")
    return named, None if name is None else str(name)


def is_submission(payload: Any) -> bool:
    """Whether a recorded call is one whose arguments are not shown."""
    _, name = called(payload)
    return name is not None and name not in LOOKUPS


def _submissions(calls: Iterable[Any]) -> Iterator[Any]:
    for payload in filter(is_submission, calls):
        named, _ = called(payload)
        for given in (named[name] for name in ARGUMENTS if named.get(name)):
            document = _document(given) if isinstance(given, str) else given
            yield given if document is None else document


def _document(text: str) -> Any:
    """JSON inside a text, None if there is none."""
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _keys(submission: Any) -> set[Words]:
    if not isinstance(submission, Mapping):
        return set()
    texts = (submission.get(name) for name in ("summary", "text"))
    return {said for text in texts if isinstance(text, str) and (said := words(text))}


def _said(submission: Any, depth: int = 0) -> Iterator[str]:
    """What was submitted in the model's words or as a quotation: not the words around it, nor how a page is called."""
    if isinstance(submission, str):
        yield submission
    elif depth < _DEEPEST and isinstance(submission, Mapping):
        for name, value in submission.items():
            if name not in ("context", "title", "url"):
                yield from _said(value, depth + 1)
    elif depth < _DEEPEST and isinstance(submission, list | tuple):
        for value in submission:
            yield from _said(value, depth + 1)


def _runs(said: Words) -> Iterator[Words]:
    return _windows(said, {min(RUN, len(said))}) if said else iter(())


def _windows(said: Words, sizes: Iterable[int]) -> Iterator[Words]:
    return (said[at : at + size] for size in sizes for at in range(len(said) - size + 1))
