"""Dated versions of the job API, chosen by a header. A version is added when an answer changes, and never altered."""

from __future__ import annotations

from typing import Final

from services.gateway.jobs.problems import Problem

HEADER: Final = b"openerrata-version"
VERSIONS: Final = ("2026-12-01",)
"""Oldest first; the oldest answers where none is asked for."""


def choose_version(asked: str) -> str:
    """The version that answers. Raises: Problem: there is none of this date."""
    if asked in VERSIONS:
        return asked
    if asked:
        raise Problem("UNKNOWN_VERSION", details={"versions": list(VERSIONS)})
    return VERSIONS[0]
