"""The requests of the clients, and their settings."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final

import httpx

from openerrata_client.documents import OpenErrataError, UnreadableAnswerError
from openerrata_client.exchanges import Call
from openerrata_client.types import API_VERSION, AnalyzeRequest, ClientLabels, Options

KEY_VARIABLE: Final = "OPENERRATA_API_KEY"
SERVER_VARIABLE: Final = "OPENERRATA_SERVER"
DEFAULT_SERVER: Final = "http://127.0.0.1:8787"
TIMEOUT_S: Final = 30.0
CANCEL_S: Final = 10.0
"""How long a client that is stopped tries to cancel its job."""
_HEADER_VALUE: Final = re.compile("[!-~]([ -~]*[!-~])?")
QUIET_S: Final = 60.0
"""How long a stream of events may be silent; a server sends a heartbeat more often."""


def choose_server(server: str | None) -> str:
    """The server's address: the given one, else that of the environment, else an instance on this machine.

    Raises: OpenErrataError: the address is not valid.
    """
    address = (server or os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER).strip().rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise OpenErrataError(f"{address} is not the address of a server, which begins with https://")
    try:
        host = httpx.URL(address).host
    except (httpx.InvalidURL, UnicodeError) as error:
        raise OpenErrataError(f"{address} is not the address of a server: {error}") from None
    if not host:
        raise OpenErrataError(f"{address} is not the address of a server: it has no host")
    return address


@contextmanager
def read_environment() -> Iterator[None]:
    """Guard making an HTTP client, which reads proxies and certificates. Raises: OpenErrataError: they are unusable."""
    try:
        yield
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise OpenErrataError(f"The proxy or the certificates of the environment cannot be used: {error}") from None


@contextmanager
def read_redirects() -> Iterator[None]:
    """Guard sending a request. No redirect is followed, but httpx parses its address.

    Raises: UnreadableAnswerError: the address is not valid.
    """
    try:
        yield
    except (httpx.InvalidURL, UnicodeError) as error:
        raise UnreadableAnswerError(f"The server's answer redirects to an invalid address: {error}") from None


def standard_headers(api_key: str | None) -> Mapping[str, str]:
    """Headers of every request. `api_key`: None takes that of the environment. Raises: OpenErrataError: invalid key."""
    key = (os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key).strip()
    if any(not "!" <= character <= "~" for character in key):
        raise OpenErrataError("The API key has characters that no key can have.")
    authorization = {"Authorization": f"Bearer {key}"} if key else {}
    return {
        "User-Agent": f"openerrata-client/{version('openerrata-client')}",
        "OpenErrata-Version": API_VERSION,
        **authorization,
    }


def build_request(http: httpx.Client | httpx.AsyncClient, call: Call, timeout_s: float) -> httpx.Request:
    """The request of a call. A call that waits may take that much longer."""
    headers = httpx.Headers(call.headers, encoding="utf-8")
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    if call.wait_s:
        headers["Prefer"] = f"wait={call.wait_s}"
    timeout = httpx.Timeout(timeout_s, read=timeout_s + call.wait_s)
    return http.build_request(call.method, call.path, content=call.body, headers=headers, timeout=timeout)


def analyze_call(
    url: str | None,
    text: str | None,
    options: Options | None,
    labels: ClientLabels | None,
    idempotency_key: str | None,
) -> Call:
    """`POST /v1/analyze`, with one key for all its tries, so that none of them is a second job."""
    key = idempotency_key
    if not is_named(labels, key):
        key = str(uuid.uuid4())
    if key is not None and not _HEADER_VALUE.fullmatch(key):
        raise OpenErrataError(
            "The idempotency key is empty, or has characters or outer spaces that a header cannot hold."
        )
    headers = {} if key is None else {"Idempotency-Key": key}
    return Call("POST", "/v1/analyze", _body(url, text, options, labels), headers)


def is_named(labels: ClientLabels | None, idempotency_key: str | None) -> bool:
    """Whether the caller can find the job again by sending the request again; a request id names a retry too."""
    return idempotency_key is not None or (labels is not None and bool(labels.request_id))


def estimate_call(url: str | None, text: str | None, options: Options | None) -> Call:
    """`POST /v1/estimate`, which costs nothing."""
    return Call("POST", "/v1/estimate", _body(url, text, options, None))


def _body(url: str | None, text: str | None, options: Options | None, labels: ClientLabels | None) -> bytes:
    if (url is None) == (text is None):
        raise TypeError("give exactly one of url and text")
    given = {"input_url": url, "input_text": text, "options": options, "client": labels}
    asked = AnalyzeRequest(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # each has the type of its field
    try:
        return asked.model_dump_json(exclude_none=True).encode()
    except ValueError:
        raise OpenErrataError("The text holds half a character (a lone surrogate), which cannot be sent.") from None
