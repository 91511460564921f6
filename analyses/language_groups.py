"""Find the language of a text by its script and its commonest words.

Each language has a threshold of its own, so a text that is in none of them, or in two, belongs to no group.
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
"""More words for short texts: they do not distinguish these languages, but few other languages have them."""
_FOREIGN: Final = re.compile(r"[^\W\d_a-zäöüßàâæçéèêëîïôœùûÿáíìñóòúãõ]")
"""A lower-case letter that none of these languages has."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_FEWEST: Final = 3
"""The fewest common words of a language that a text in it must have."""
_LEAD: Final = 1.5
"""A text must have this many times as many common words of its language as of any other."""
_LEAST_SHARE: Final = 1 / 12
"""The least share of common words in a text: prose in these languages has twice as many, in related ones fewer."""


def _parse(table: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(words) for language, *words in map(str.split, table.splitlines())}


_WORDS: Final = MappingProxyType(_parse(_COMMON))
_ALL_WORDS: Final = MappingProxyType(
    {language: words | _parse(_FURTHER).get(language, frozenset()) for language, words in _WORDS.items()}
)


def find_group(text: str) -> str:
    """The code of a text's language, or `other`."""
    (first, most), (_, next_) = _count(_WORD.findall(text.lower()), _WORDS)
    return first if most >= max(_FEWEST, _LEAD * next_) else OTHER


def is_in_any(text: str) -> bool:
    """Whether a text, however short, is probably in one of the languages; a text without words always is."""
    words = _WORD.findall(text.lower())
    foreign = sum(_FOREIGN.search(word) is not None for word in words)
    return not words or _count(words, _ALL_WORDS)[0][1] >= max(foreign + 1, _LEAST_SHARE * len(words))


def _count(words: list[str], languages: Mapping[str, frozenset[str]]) -> list[tuple[str, int]]:
    """The two languages with the most common words in `words`, and their number; a repeated word counts each time."""
    counts: Counter[str] = Counter(dict.fromkeys(languages, 0))
    for word in words:
        counts.update(language for language, common in languages.items() if word in common)
    return counts.most_common(2)
