"""Messages for errors that an operator can fix. Any other error is a bug and keeps its traceback."""

from __future__ import annotations

import errno

import nats.errors
import nats.js.errors
import psycopg
from sqlalchemy.exc import DBAPIError

from kit.blobs import BlobsUnavailable
from kit.database import UnknownSchema
from kit.embedded import EmbeddedError
from kit.http import CannotListen
from kit.publisher import BusError
from kit.settings import SettingsError
from kit.topology import TopologyMissing, UnsafeBroker

_SELF_EXPLANATORY = (
    BlobsUnavailable,
    BusError,
    CannotListen,
    EmbeddedError,
    SettingsError,
    TopologyMissing,
    UnknownSchema,
    UnsafeBroker,
)


def explain(error: BaseException | None) -> str | None:
    """The problem and what to check, None if the operator cannot fix it."""
    match error:
        case BaseExceptionGroup(exceptions=(only,)):
            return explain(only)
        case DBAPIError():
            return explain(error.orig)
        case psycopg.errors.InsufficientPrivilege():
            return (
                f"the user of OPENERRATA_DATABASE_URL lacks a right: {_one_line(error)}; "
                "let an administrator run deploy/roles.sql for it"
            )
        case psycopg.OperationalError():
            return f"OPENERRATA_DATABASE_URL: {_one_line(error)}"
        case nats.js.errors.NotFoundError():
            return f"the broker lacks something: {error.description}; run `openerrata topology apply`"
        case nats.js.errors.ServiceUnavailableError() | nats.errors.NoRespondersError():
            return "OPENERRATA_NATS_URL: the broker answers without JetStream: enable it, or see its log"
        case nats.js.errors.APIError():
            return f"OPENERRATA_NATS_URL: the broker refuses: {error.description}"
        case nats.errors.TimeoutError():
            return "OPENERRATA_NATS_URL: the broker stopped answering; may this user use JetStream?"
        case nats.errors.Error():
            return f"OPENERRATA_NATS_URL: {_one_line(error)}"
        case OSError(filename=str(name), strerror=str(reason)):
            return f"{name}: {reason}"
        case OSError(errno=errno.ENOSPC, strerror=reason):  # of a write, which does not know the file's name
            return reason
        case _:
            return str(error) if isinstance(error, _SELF_EXPLANATORY) else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
