"""The kinds of failed fetches, a closed list: callers decide by kind, never by text."""

from __future__ import annotations

from typing import Literal

ErrorKind = Literal[
    "bad_scheme",
    "malformed_url",
    "credentials_in_url",
    "unresolvable",
    "blocked_address",
    "blocked_port",
    "connection_failed",
    "timeout",
    "too_many_redirects",
    "too_large",
    "bad_encoding",
    "bad_response",
]


class WebError(Exception):
    """A fetch failed; `detail` is one sentence for an operator and names no internal address."""

    def __init__(self, kind: ErrorKind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: ErrorKind = kind
        self.detail = detail
