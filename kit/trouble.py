"""What an operator can mend, told in one line. Whatever is not told here is a bug and keeps its traceback."""

from __future__ import annotations

import nats.errors
import nats.js.errors
import psycopg
from sqlalchemy.exc import DBAPIError

from kit.blobs import BlobsUnavailable
from kit.bus import BusError
from kit.embedded import EmbeddedError
from kit.http import CannotListen
from kit.settings import SettingsError
from kit.topology import TopologyMissing, UnsafeBroker

_TOLD_BY_ITSELF = (
    BlobsUnavailable,
    BusError,
    CannotListen,
    EmbeddedError,
    SettingsError,
    TopologyMissing,
    UnsafeBroker,
)


def explained(error: BaseException | None) -> str | None:
    """What is wrong and where to look; None for what is not the operator's to mend."""
    match error:
        case BaseExceptionGroup(exceptions=(only,)):
            return explained(only)
        case DBAPIError():
            return explained(error.orig)
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
        case _:
            return str(error) if isinstance(error, _TOLD_BY_ITSELF) else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
