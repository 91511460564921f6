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
_WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {language: frozenset(words) for language, *words in map(str.split, _COMMON.splitlines())}
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_FEWEST: Final = 3
"""Common words that a text needs before it counts as being in a language."""
_LEAD: Final = 1.5
"""How many times as many of them as of the next language's."""


def find_group(text: str) -> str:
    """A language by its code, or `other`."""
    counts: Counter[str] = Counter(dict.fromkeys(_WORDS, 0))
    for word in _WORD.findall(text.lower()):
        counts.update(language for language, words in _WORDS.items() if word in words)
    (first, most), (_, next_) = counts.most_common(2)
    return first if most >= max(_FEWEST, _LEAD * next_) else OTHER
