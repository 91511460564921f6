"""Recognise failures of servers, which are transient and not caused by the message."""

from __future__ import annotations

from typing import Final

import nats.errors
import nats.js.errors
import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from kit.blobs import BlobsUnavailable
from kit.errors import Outage
from kit.publisher import BusError, PublishConflict, PublishRefused

_CLIENT_ERRORS: Final = (
    nats.errors.BadHeaderError,
    nats.errors.BadSubjectError,
    nats.errors.MaxPayloadError,
    nats.errors.MsgAlreadyAckdError,
    nats.js.errors.BadRequestError,
    nats.js.errors.InvalidKeyError,
    nats.js.errors.NotFoundError,
)
"""Raised by the client library for wrong arguments."""


def is_outage(error: BaseException) -> bool:
    """Whether the error means that a server is silent, gone, without a leader or without space."""
    match error:
        case BaseExceptionGroup():
            return all(is_outage(each) for each in error.exceptions)
        case DBAPIError():
            return error.connection_invalidated or is_outage(error.orig) if error.orig is not None else False
        case PublishConflict() | PublishRefused():
            return False
        case BusError() | Outage() | BlobsUnavailable() | psycopg.OperationalError() | PoolTimeout():
            return True
        case nats.errors.Error():
            return not isinstance(error, _CLIENT_ERRORS)
        case _:
            return False
