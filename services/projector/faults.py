"""Whose fault a failure is: that of the fact being applied, which is refused, or of a server, which is tried again.

Only trouble that can end by itself is a server's. Everything else would happen again with the same fact, for ever.
"""

from __future__ import annotations

from typing import Final

import psycopg

from kit.blobs import BlobsUnavailable
from services.projector.chain import LedgerBroken

REFUSALS: Final = frozenset({"21", "22", "23", "54", "P0"})
"""Classes of errors that a row causes by what it holds: a key twice in one statement, data, constraint, size beyond a
limit, a trigger's word. Source: PostgreSQL documentation, appendix A."""
NOT_OF_A_FACT: Final = (LedgerBroken, BlobsUnavailable, OSError, MemoryError)
"""OSError includes lost connections and timeouts."""
MAX_REASON: Final = 500
"""Units: characters."""


def of_a_fact(error: Exception) -> bool:
    """Whether the same fact would fail again however often it is tried."""
    if not isinstance(error, psycopg.Error):
        return not isinstance(error, NOT_OF_A_FACT)
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return True
    if error.sqlstate is None:  # raised by the driver itself
        return isinstance(error, psycopg.ProgrammingError)
    return error.sqlstate[:2] in REFUSALS


def reason(error: Exception) -> str:
    """One line for the record, the same whenever the fact is applied again."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    line = f"{type(error).__name__}: {said or error}"
    return line.encode(errors="replace").decode()[:MAX_REASON]
