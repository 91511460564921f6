"""Group pages that are one source: copies, mirrors and an owner's sites count once. Source: requirements A.9."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from types import MappingProxyType
from typing import Final

from ada_url import URL
from publicsuffixlist import PublicSuffixList

from analyses.snippets import fold

SHINGLE: Final = 8
"""The number of words in a shingle."""

_WORD: Final = re.compile(r"\w+")
_OWNERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        domain: owner
        for owner, domains in json.loads((files(__package__) / "owners.json").read_bytes()).items()
        for domain in domains
    }
)
"""The owner of each registrable domain; a domain that is not listed has an owner of its own."""


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page that was read. Shapes: `canonical_url` is the absolute address that the page states."""

    url: str
    canonical_url: str | None
    text: str


def number_families(pages: Sequence[SourcePage]) -> tuple[int, ...]:
    """The family of each page, numbered from 1 by first appearance.

    Two pages are in one family if they share an owner or an address, or if at least half of the shorter one's shingles
    are in the other; families that share a page are one.
    """
    heads = list(range(len(pages)))

    def head(page: int) -> int:
        while heads[page] != page:
            heads[page] = page = heads[heads[page]]
        return page

    traits = [_traits(each) for each in pages]
    shingles = [_shingles(each.text) for each in pages]
    for one, other in combinations(range(len(pages)), 2):
        if head(one) != head(other) and (traits[one] & traits[other] or _overlap(shingles[one], shingles[other])):
            heads[head(other)] = head(one)
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(head(page), len(numbers) + 1) for page in range(len(pages)))


def find_domain(url: str) -> str | None:
    """The registrable domain of an address, its host if it has none, or None if `url` is not an address.

    Sites of different people at one provider, such as pages on github.io, have different domains.
    """
    parsed = _parse(url)
    if parsed is None or not parsed.hostname:
        return None
    host = parsed.hostname.rstrip(".")
    return host if host[-1:].isdigit() or ":" in host else _suffixes().privatesuffix(host) or host


def _traits(page: SourcePage) -> frozenset[str]:
    """The owner and the addresses of a page; pages that share one of them are in one family."""
    domain = find_domain(page.url)
    addresses = {_address(page.url), _address(page.canonical_url) if page.canonical_url else None}
    owners = {f"owner {_OWNERS.get(domain, domain)}"} if domain else set()
    return frozenset(each for each in addresses | owners if each)


def _address(url: str) -> str | None:
    parsed = _parse(url)
    if parsed is None:
        return None
    return f"{parsed.host}{parsed.pathname.rstrip('/')}{parsed.search}"


def _parse(url: str) -> URL | None:
    try:
        return URL(url)
    except ValueError:
        return None


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(fold(text).casefold())
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _overlap(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    smaller = min(len(one), len(other))
    return smaller > 0 and 2 * len(one & other) >= smaller


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
