"""Reads a request for an analysis, with the checks that its types cannot make: number of words, public addresses."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

import ada_url
from pydantic import TypeAdapter

from contracts.jobs.requests import TEXT_CHARACTERS, AnalyzeRequest
from kit.web.addresses import is_local_name, is_public
from platforms.text import word_count
from services.gateway.domain import WORD_LIMIT, Principal
from services.gateway.jobs.exchange import parse
from services.gateway.jobs.problems import Problem

_REQUEST: Final = TypeAdapter(AnalyzeRequest)


def read_article(body: bytes, principal: Principal) -> AnalyzeRequest:
    """Parse and check the request in a body. Raises: Problem."""
    request = parse(_REQUEST, body)
    if request.input_text is not None:
        _check_length(request.input_text)
    if request.input_url is not None:
        _check_public(request.input_url, "input_url")
    if request.client.webhook_url is not None:
        _check_public(request.client.webhook_url, "client.webhook_url")
        if not principal.account.has_webhook_secret:
            raise Problem("NO_WEBHOOK_SECRET")
    return request


def _check_length(text: str) -> None:
    words = word_count(text)
    if words > WORD_LIMIT:
        raise Problem("INPUT_TOO_LONG", details={"words": words, "limit": WORD_LIMIT})
    if len(text) > TEXT_CHARACTERS:
        raise Problem("INPUT_TOO_LONG", details={"characters": len(text), "limit": TEXT_CHARACTERS})
    if words == 0:
        raise _issue("input_text", "must hold at least one word")


def _check_public(url: str, field: str) -> None:
    """Refuse addresses of this machine or a local network. What a name resolves to is checked when it is fetched."""
    parsed = ada_url.URL(url)
    if parsed.username or parsed.password:
        raise _issue(field, "must not hold a user name or password")
    try:
        public = is_public(ip_address(parsed.hostname.strip("[]")))
    except ValueError:
        public = not is_local_name(parsed.hostname)
    if not public:
        raise _issue(field, "must be an address of the public internet")


def _issue(path: str, message: str) -> Problem:
    return Problem("VALIDATION_ERROR", f"{path} {message}.", {"issues": [{"path": path, "message": message}]})
