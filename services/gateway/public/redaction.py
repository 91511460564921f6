"""Redacts texts of the audit that repeat unpublished submissions of a model.

Most rejected candidates are true sentences, so their words must not be published in another place: in a search, in an
error, or in the model's reasoning. A text repeats a candidate if it has five of its words in a row. Paraphrases are not
detected, so the model's own long texts are withheld as a whole (decision 0044).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote_plus

from pydantic import JsonValue

from analyses import retaining
from analyses.research import AUTHOR_HISTORY, FETCH_URL
from contracts.composed import nfkc

LOOKUPS: Final = frozenset({FETCH_URL.name, AUTHOR_HISTORY.name, retaining.NAME, "web_search"})
"""Functions whose arguments are published. Any other call is a submission."""
ARGUMENTS: Final = ("arguments", "input")
"""The fields in which providers put a call's arguments."""
MARK: Final = "[withheld]"
RUN: Final = 5
LONGEST: Final = 20_000
"""Units: characters. Longer texts are redacted without a search; no query or URL is longer."""
MOST: Final = 500_000
"""Units: characters. If more than that is unpublished, all texts are redacted without a search."""
_DEEPEST: Final = 16

_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""Scripts without spaces between words: each character counts as a word."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")

Words = tuple[str, ...]


def words(text: str) -> Words:
    """The words of a text, without case, punctuation, spacing and percent-escapes."""
    return tuple(_WORD.findall(nfkc(_UNSEEN.sub("", unquote_plus(text))).casefold()))


class Redactor:
    """Finds and redacts texts that repeat unpublished submissions; false if there are none.

    Shapes: `candidates` as (state, payload); `calls` are recorded payloads. A submission counts as published if a
    published candidate has its summary or its quote, since the rest may have been edited.
    """

    def __init__(self, candidates: Iterable[tuple[str, JsonValue]], calls: Iterable[JsonValue] = ()) -> None:
        published: list[JsonValue] = []
        unpublished: list[JsonValue] = []
        for state, payload in candidates:
            (published if state == "APPROVED" else unpublished).append(payload)
        published_keys = {tokens for each in published for tokens in _keys(each)}
        unpublished += (each for each in _submissions(calls) if published_keys.isdisjoint(_keys(each)))
        self._any = bool(unpublished)
        texts = [text for each in unpublished for text in _model_words(each)]
        self._too_much = sum(map(len, texts)) > MOST
        runs = set() if self._too_much else {run for text in texts for run in _runs(words(text))}
        sizes = {len(run) for run in runs}
        for each in published:
            for text in _model_words(each):
                runs.difference_update(_windows(words(text), sizes))
        self._runs = runs
        self._sizes = {len(run) for run in runs}

    def __bool__(self) -> bool:
        return self._any

    def repeats(self, text: str) -> bool:
        """Whether a text repeats an unpublished submission, or is too long to be searched."""
        if not self._any:
            return False
        if self._too_much or len(text) > LONGEST:
            return True
        return not self._runs.isdisjoint(_windows(words(text), self._sizes))

    def redact(self, text: str) -> str:
        """The text, or MARK if it or JSON inside it repeats a submission."""
        return text if self.without(text) == text else MARK

    def alters(self, value: JsonValue) -> bool:
        """Whether anything in a JSON value repeats a submission."""
        return self.without(value) != value

    def without(self, value: JsonValue, depth: int = 0) -> JsonValue:
        """Replace every text in a JSON value that repeats a submission by MARK; JSON inside texts is searched too."""
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
            case dict():
                return {name: self.without(each, depth + 1) for name, each in value.items() if not self.repeats(name)}
            case list():
                return [self.without(each, depth + 1) for each in value]
        return value


def find_call(payload: JsonValue) -> tuple[dict[str, JsonValue], str | None]:
    """The part of a recorded call that holds name and arguments, and the name; None if the tool has no name."""
    if not isinstance(payload, dict):
        return {}, None
    function = payload.get("function")
    named = function if isinstance(function, dict) else payload
    name = named.get("name")
    return named, None if name is None else str(name)


def is_submission(payload: JsonValue) -> bool:
    """Whether a recorded call submits something, so that its arguments are not published."""
    _, name = find_call(payload)
    return name is not None and name not in LOOKUPS


def _submissions(calls: Iterable[JsonValue]) -> Iterator[JsonValue]:
    for payload in filter(is_submission, calls):
        named, _ = find_call(payload)
        for given in (named[name] for name in ARGUMENTS if named.get(name)):
            document = _document(given) if isinstance(given, str) else given
            yield given if document is None else document


def _document(text: str) -> JsonValue:
    """Parse JSON inside a text; None if there is none."""
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        document: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document


def _keys(submission: JsonValue) -> set[Words]:
    if not isinstance(submission, dict):
        return set()
    texts = (submission.get(name) for name in ("summary", "text"))
    return {tokens for text in texts if isinstance(text, str) and (tokens := words(text))}


def _model_words(submission: JsonValue, depth: int = 0) -> Iterator[str]:
    """The submitted texts, without context, titles and URLs."""
    if isinstance(submission, str):
        yield submission
    elif depth < _DEEPEST and isinstance(submission, dict):
        for name, value in submission.items():
            if name not in ("context", "title", "url"):
                yield from _model_words(value, depth + 1)
    elif depth < _DEEPEST and isinstance(submission, list):
        for value in submission:
            yield from _model_words(value, depth + 1)


def _runs(tokens: Words) -> Iterator[Words]:
    return _windows(tokens, {min(RUN, len(tokens))}) if tokens else iter(())


def _windows(tokens: Words, sizes: Iterable[int]) -> Iterator[Words]:
    return (tokens[at : at + size] for size in sizes for at in range(len(tokens) - size + 1))
