"""The lists of hosts and words that the gates use, loaded from data files."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final
from urllib.parse import urlsplit


def _load(name: str) -> dict[str, list[str]]:
    loaded: dict[str, list[str]] = json.loads((files(__package__) / name).read_bytes())
    return loaded


_HOSTS: Final = _load("hosts.json")
_WORDS: Final = _load("cues.json")

USER_GENERATED: Final = frozenset(_HOSTS["user_generated"])
"""Hosts where users publish under their own name."""
WIKIS: Final = frozenset(_HOSTS["wikis"])
"""Hosts where all may edit any page: they cite sources but are not sources themselves."""
MODEL_WRITTEN: Final = frozenset(_HOSTS["model_written"])
"""Hosts whose pages a model writes."""
SATIRE_HOSTS: Final = frozenset(_HOSTS["satire"])
SATIRE_NAMES: Final = frozenset(_HOSTS["satire_names"])
"""Shapes: words in lower case with single spaces."""


@dataclass(frozen=True, slots=True)
class Cues:
    """Words that show how something is meant, of all languages together.

    Shapes: `negation` comes before what it negates, `refutation` on either side of it; `condition` begins a sentence,
    and so does `reference`, which refers to the sentence before.
    """

    satire: re.Pattern[str]
    satire_name: re.Pattern[str]
    negation: re.Pattern[str]
    refutation: re.Pattern[str]
    correction: re.Pattern[str]
    hypothesis: re.Pattern[str]
    condition: re.Pattern[str]
    jest: re.Pattern[str]
    reference: re.Pattern[str]


def find_host(url: str) -> str:
    """The host of an address in lower case, empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def is_on(host: str, domains: Collection[str]) -> bool:
    """Whether a host is one of these domains or a subdomain of one."""
    parts = host.split(".")
    return any(".".join(parts[at:]) in domains for at in range(len(parts)))


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    """A pattern for any of these phrases as whole words; `*` matches the rest of a word."""
    shaped = (re.escape(each).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for each in phrases)
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(shaped, key=len, reverse=True))})(?!\w)", re.IGNORECASE)


CUES: Final = Cues(**{name: _pattern(phrases) for name, phrases in _WORDS.items()})
