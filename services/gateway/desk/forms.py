"""Forms of the desk: checks which page sent them, and reads their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from services.gateway.http import BodyTimeouts, page_origin, read_body
from services.gateway.jobs.problems import Problem

MOST_FIELDS: Final = 20
_KIND: Final = "application/x-www-form-urlencoded"


def is_sent_by_own_page(request: Request, public_url: str) -> bool:
    """Whether the browser's headers say that one of our own pages sent the request; False without such headers."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        return False
    own = page_origin(public_url, request.headers.get("host", ""))
    return site in (None, "same-origin") and origin in (None, own)


async def read_form(request: Request, timeouts: BodyTimeouts) -> Mapping[str, str]:
    """Read the fields of a form; a name that is repeated has its last value.

    Raises: Problem. BodyTooLarge, TimeoutError, ClientDisconnected.
    """
    length = request.headers.get("content-length", "").encode("latin-1")
    body = await read_body(request.receive, length, timeouts)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise Problem("UNSUPPORTED_MEDIA_TYPE")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem("VALIDATION_ERROR", "This form cannot be read.") from None
    if any("\0" in value for _, value in pairs):
        raise Problem("VALIDATION_ERROR", "This form cannot be read.")
    return {name: value.replace("\r\n", "\n").strip() for name, value in pairs}
