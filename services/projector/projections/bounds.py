"""Maximum lengths of third-party text in the tables.

The gateway refuses longer values; those of earlier facts and of sites are truncated here.
"""

from __future__ import annotations

from typing import Final, overload

MAX_TITLE: Final = 1_000
MAX_NAME: Final = 300
MAX_URL: Final = 2_048
"""Units: characters."""


@overload
def title(value: str) -> str: ...
@overload
def title(value: str | None) -> str | None: ...
def title(value: str | None) -> str | None:
    """A title, truncated; None if it is empty."""
    return value[:MAX_TITLE] if value else None


def name(value: str) -> str:
    """A person's name, truncated."""
    return value[:MAX_NAME]


def url(value: str) -> str:
    """A URL; one that is too long loses its query and fragment, and is then truncated."""
    return value if len(value) <= MAX_URL else value.partition("#")[0].partition("?")[0][:MAX_URL]
