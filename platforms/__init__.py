"""The supported sites. Pure: no I/O, no clock, no randomness."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Final

from pydantic import Field

from platforms.base import IdentityMismatch, Platform, Prover
from platforms.bluesky import Bluesky
from platforms.lesswrong import LessWrong
from platforms.substack import Substack
from platforms.urls import web_page
from platforms.wikipedia import Wikipedia
from platforms.x import X

PLATFORMS: Final[tuple[Platform, ...]] = (
    LessWrong(),
    X(),
    Substack(),
    Wikipedia(),
    Bluesky(),
)

_OBSERVED: Any = reduce(or_, (site.observed for site in PLATFORMS))  # a union made of values is no type to a checker
ObservedVersion: Any = Annotated[_OBSERVED, Field(discriminator="platform")]
"""An observation as a browser sends it: the union of all sites' shapes, discriminated by the site's name."""
_BY_NAME: Final = {site.name: site for site in PLATFORMS}


def get_platform(name: str) -> Platform:
    """The site of that name. Raises: KeyError: the name is unknown; any name may come over the wire."""
    return _BY_NAME[name]


def find_platform(name: str) -> Platform | None:
    """The site of that name; None if the name is unknown."""
    return _BY_NAME.get(name)


def find_permalink(text: str) -> str | None:
    """The part that all URLs of a post share, given one of them, with or without scheme; None for any other text."""
    if len(text.split()) != 1:
        return None
    url = text.strip() if "://" in text else f"https://{text.strip()}"
    try:
        host = web_page(url).host
        for site in PLATFORMS:
            if any(f".{host}".endswith(f".{domain}") for domain in site.domains):
                return site.permalink(url)
    except IdentityMismatch:
        pass
    return None


def has_proof_place(name: str) -> bool:
    """Whether authors can prove their identity on the site."""
    site = find_platform(name)
    return site is not None and site.proof_place is not None


def name_prover(name: str) -> Prover:
    """The role of a person who proves their identity on the site: author or contributor."""
    site = find_platform(name)
    return "author" if site is None else site.prover


def has_public_source(name: str) -> bool:
    """Whether the site has a public source; otherwise observations cannot be verified."""
    site = find_platform(name)
    return site is not None and site.default_endpoint is not None
