"""Find the catalogue's errors in a text, if nothing around the sentence leaves room for another reading.

The lists of doubtful words are long on purpose: a word too many costs a finding in a demonstration, a missing one may
cause a false accusation.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from kit.models.demo_catalogue import Catalogue, Entry
from kit.models.demo_reading import (
    LONGEST_SENTENCE,
    SENTENCE,
    Sentence,
    between_single_quotes,
    fold,
    plain_sentences,
    quotations,
)

OPENING = 600
"""Units: characters at the start of an article that show its topic."""


def _words(listed: str) -> re.Pattern[str]:
    stems = (re.escape(word).replace(r"\*", r"\w*").replace("_", r"[ -]") for word in listed.split())
    return re.compile(rf"\b(?:{'|'.join(stems)})\b", re.IGNORECASE)


_DOUBT = _words(
    """
    myth* misconception* misbelie* misinform* disinform* false* untru* wrong* incorrect* inaccura* erroneous* error*
    mistake* mistook debunk* disprov* refut* contradict* contrary hoax* legend* folklore superstition* rumor* rumour*
    fallac* tale tales nonsense fiction* fake* satir* parod* joke* joking kidding irony ironic* sarcas* pretend* imagin*
    suppos* assum* hypothe* would if belief* believ* think thinks thought claim* alleg* apparent* seeming* truth* true
    say says said saying told tell* taught teach* asked heard wrote quot* lie lies lied lying quiz sentence* statement*
    used_to so_called old_wives
    """
)
_REPLY = _words(
    """
    not no nope never cannot don't doesn't isn't aren't wasn't weren't can't won't but however yet though although
    instead otherwise rather actual* realit* evidence experiment* study studies research* scientist* shows showed
    shown prove*
    """
)
_ABOUT_ERRORS = _words(
    """
    myth myths misconception* misbelief* misinformation disinformation debunk* hoax* urban_legend* satir* parod* fallac*
    fact_check* old_wives conspirac* true_or_false fact_or_fiction short_story a_novel fiction
    """
)


def is_about_errors(text: str) -> bool:
    """Whether the article's opening shows that it is about errors or fiction, and so states what it does not mean."""
    return _ABOUT_ERRORS.search(text, 0, OPENING) is not None


def is_doubted(text: str, start: int, end: int, reach: int, ignored: Container[str]) -> bool:
    """Whether one of the `reach` sentences before or after asks or speaks of belief, or the next one contradicts.

    Sentences whose folded words are in `ignored` do not count: they are plainly stated errors themselves.
    """
    span = (LONGEST_SENTENCE + 1) * reach * 2
    before = [*_sentences(text[max(0, start - span) : start])][-reach:]
    after = [*_sentences(text[end : end + span])][:reach]
    around = [sentence for sentence in (*before, *after) if fold(sentence) not in ignored]
    replies = [sentence for sentence in after[:1] if fold(sentence) not in ignored]
    return any("?" in sentence or _DOUBT.search(sentence) for sentence in around) or any(map(_REPLY.search, replies))


def _sentences(text: str) -> Iterator[str]:
    return (found.group() for found in SENTENCE.finditer(text) if found.group().strip())


def find_errors(text: str, known: Catalogue) -> Iterator[tuple[Entry, Sentence]]:
    """Each catalogued error in a text with its first plain sentence, in order."""
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
