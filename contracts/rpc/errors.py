"""The errors of the RPC protocol: each code has a number and an HTTP status, which are all that the extension reads.

Messages are for people and contain no internal details.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ErrorName = Literal[
    "BAD_REQUEST",
    "UNAUTHORIZED",
    "NOT_FOUND",
    "METHOD_NOT_SUPPORTED",
    "TIMEOUT",
    "PRECONDITION_FAILED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "TOO_MANY_REQUESTS",
    "INTERNAL_SERVER_ERROR",
    "SERVICE_UNAVAILABLE",
]
OpenErrataCode = Literal["PAYLOAD_TOO_LARGE", "UPGRADE_REQUIRED", "MALFORMED_EXTENSION_VERSION", "POST_FORGOTTEN"]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """The number and the HTTP status of a code. Source: docs/protocol.md 1.4."""

    jsonrpc: int
    http: int


ERROR_CODES: Final[dict[ErrorName, ErrorCode]] = {
    "BAD_REQUEST": ErrorCode(-32600, 400),
    "UNAUTHORIZED": ErrorCode(-32001, 401),
    "NOT_FOUND": ErrorCode(-32004, 404),
    "METHOD_NOT_SUPPORTED": ErrorCode(-32005, 405),
    "TIMEOUT": ErrorCode(-32008, 408),
    "PRECONDITION_FAILED": ErrorCode(-32012, 412),
    "PAYLOAD_TOO_LARGE": ErrorCode(-32013, 413),
    "UNSUPPORTED_MEDIA_TYPE": ErrorCode(-32015, 415),
    "TOO_MANY_REQUESTS": ErrorCode(-32029, 429),
    "INTERNAL_SERVER_ERROR": ErrorCode(-32603, 500),
    "SERVICE_UNAVAILABLE": ErrorCode(-32603, 503),
}


@dataclass(frozen=True, slots=True)
class RpcError:
    """One error response. `extra`: keys that only some errors have."""

    name: ErrorName
    message: str
    path: str | None = None
    extra: tuple[tuple[str, str | None], ...] = ()

    @property
    def http(self) -> int:
        """The HTTP status."""
        return ERROR_CODES[self.name].http

    def body(self) -> dict[str, object]:
        """The envelope, ready for JSON."""
        code = ERROR_CODES[self.name]
        data: dict[str, object] = {"code": self.name, "httpStatus": code.http}
        if self.path is not None:
            data["path"] = self.path
        data.update(self.extra)
        return {"error": {"message": self.message, "code": code.jsonrpc, "data": data}}
