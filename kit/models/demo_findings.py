"""The catalogue's errors in a text, where nothing around a sentence leaves room for another reading."""

from __future__ import annotations

from collections.abc import Iterator

from kit.models.demo_catalogue import Catalogue, Entry
from kit.models.demo_doubt import is_about_errors, is_doubted
from kit.models.demo_reading import Sentence, between_single_quotes, plain_sentences, quotations


def find_errors(text: str, known: Catalogue) -> Iterator[tuple[Entry, Sentence]]:
    """Each catalogued error of a text with its first plain sentence, in order."""
    if is_about_errors(text):
        return
    quoted = quotations(text)
    found: set[str] = set()
    for sentence in plain_sentences(text):
        entry = known.by_sentence.get(sentence.words)
        if entry is None or entry.id in found:
            continue
        start, end = sentence.start, sentence.end
        if any(first < start < last for first, last in quoted) or between_single_quotes(text, start, end):
            continue
        if is_doubted(text, start, end, reach=1, ignored=known.by_sentence):
            continue
        found.add(entry.id)
        yield entry, sentence
