"""Classifies errors: one caused by a fact refuses that fact; one of a server is retried.

Only errors that may end by themselves are a server's; all others would repeat with the same fact.
"""

from __future__ import annotations

from typing import Final

import psycopg

from kit.blobs import BlobsUnavailable
from services.projector.ledger.chain import LedgerBroken

REFUSALS: Final = frozenset({"21", "22", "23", "54", "P0"})
"""SQLSTATE classes of errors that a row's content causes: a key twice in one statement, data, constraint, size beyond a
limit, a trigger's exception. Source: PostgreSQL documentation, appendix A."""
SERVER_ERRORS: Final = (LedgerBroken, BlobsUnavailable, OSError, MemoryError)
"""OSError includes lost connections and timeouts."""
MAX_CHARACTERS: Final = 500
"""Units: characters."""


def is_fault_of_fact(error: Exception) -> bool:
    """Whether the same fact would fail again however often it is tried."""
    if not isinstance(error, psycopg.Error):
        return not isinstance(error, SERVER_ERRORS)
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return True
    if error.sqlstate is None:  # raised by the driver itself
        return isinstance(error, psycopg.ProgrammingError)
    return error.sqlstate[:2] in REFUSALS


def describe_error(error: Exception) -> str:
    """The error in one line, the same whenever the fact is applied again."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    line = f"{type(error).__name__}: {message or error}"
    return line.encode(errors="replace").decode()[:MAX_CHARACTERS]
