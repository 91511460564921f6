"""The group of languages that a text is in, by its script and its commonest words.

Thresholds hold for each group on its own, so a text that is in none of them, or in two, belongs to no group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OTHER: Final = "other"
_COMMON: Final = """\
en the of and to is was that for with are this which not from have
de der die und das ist nicht ein eine den von mit auf für dem sich wird
fr le les des est et une dans que qui pour pas sur du au avec sont
es el los las que una por con para es del se como más su está
it il che di non una per con sono della gli nel è dei alla come
pt o os que uma não com para é do da em mais por ao foi
nl het een van de en niet dat op zijn met voor ook wordt aan bij"""
_FURTHER: Final = """\
en in at as be it its an or were has had but who will can than been into about he she they
fr la à il elle par ce un ne
nl te naar hij uit"""
"""Words of short texts that do not tell these languages apart, but are in few others."""
_FOREIGN: Final = re.compile(r"[^\W\d_a-zäöüßàâæçéèêëîïôœùûÿáíìñóòúãõ]")
"""A letter, small, that none of these languages writes."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_FEWEST: Final = 3
"""Common words that a text needs before it counts as being in a language."""
_LEAD: Final = 1.5
"""How many times as many of them as of the next language's."""
_LEAST_SHARE: Final = 1 / 12
"""Of its words, in a text of one of these languages: prose has twice as many, prose in their relatives fewer."""


def _parse(table: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(words) for language, *words in map(str.split, table.splitlines())}


_WORDS: Final = MappingProxyType(_parse(_COMMON))
_ALL_WORDS: Final = MappingProxyType(
    {language: words | _parse(_FURTHER).get(language, frozenset()) for language, words in _WORDS.items()}
)


def find_group(text: str) -> str:
    """A language by its code, or `other`."""
    (first, most), (_, next_) = _count(_WORD.findall(text.lower()), _WORDS)
    return first if most >= max(_FEWEST, _LEAD * next_) else OTHER


def is_in_any(text: str) -> bool:
    """Whether a text, however short, is likely to be in one of the languages; numbers alone are in all of them."""
    words = _WORD.findall(text.lower())
    foreign = sum(_FOREIGN.search(word) is not None for word in words)
    return not words or _count(words, _ALL_WORDS)[0][1] >= max(foreign + 1, _LEAST_SHARE * len(words))


def _count(words: list[str], languages: Mapping[str, frozenset[str]]) -> list[tuple[str, int]]:
    """The two languages of whose words most are among these, and how many; the same word counts each time."""
    counts: Counter[str] = Counter(dict.fromkeys(languages, 0))
    for word in words:
        counts.update(language for language, common in languages.items() if word in common)
    return counts.most_common(2)
