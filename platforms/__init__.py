"""What we know about each site. Pure: no I/O, no clock, no randomness."""

from __future__ import annotations

from typing import Final

from platforms.base import Platform
from platforms.lesswrong import LessWrong
from platforms.substack import Substack
from platforms.wikipedia import Wikipedia
from platforms.x import X

PLATFORMS: Final[tuple[Platform, ...]] = (LessWrong(), X(), Substack(), Wikipedia())


_BY_NAME: Final = {site.name: site for site in PLATFORMS}


def platform(name: str) -> Platform:
    """The site of that name. Raises: KeyError for a name we do not know, since names are open on the wire."""
    return _BY_NAME[name]


def has_public_source(name: str) -> bool:
    """Whether the site itself can be asked; where it cannot, the reader's word is all there is."""
    site = _BY_NAME.get(name)
    return site is not None and site.default_endpoint is not None
