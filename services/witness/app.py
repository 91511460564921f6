"""The witness over HTTP: `POST /add-checkpoint`, and the newest checkpoint of each log for monitors."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from http import HTTPStatus
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kit.clock import Clock
from services.witness.domain import Latest, Refused, Request, check_growth, check_signature, cosign, read_request
from services.witness.store import Store
from tlog.note import Note
from tlog.witnessing import PATH

MAX_BODY_BYTES: Final = 256 * 1024
BODY_TIMEOUT_S: Final = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger("witness")


class Witness:
    """Cosigns what a log submits, with each of the keys in the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def add_checkpoint(self, body: bytes) -> str:
        """Cosign a submitted checkpoint; the cosignatures are on disk when this returns. Raises: Refused."""
        request = read_request(body)
        origin = request.checkpoint.origin
        signed = check_signature(request, self._store.log_keys(origin))
        cosigned = self._store.advance(origin, partial(self._step, request, signed))
        return "".join(f"{line}\n" for line in cosigned.signatures[-len(self._store.keys) :])

    def _step(self, request: Request, signed: Note, latest: Latest) -> Note:
        check_growth(request, latest)
        return cosign(signed, self._store.keys, int(self._clock.now().timestamp()))


def make_app(store: Store, clock: Clock) -> Starlette:
    """The application. It writes to disk in a thread, before it answers."""
    witness = Witness(store, clock)

    async def add_checkpoint(request: HttpRequest) -> Response:
        try:
            body = await _read(request)
            lines = await asyncio.to_thread(witness.add_checkpoint, body)
        except Refused as refused:
            log.info("refused", status=refused.status.value, reason=refused.text.strip())
            # As a header: a media type would be given a charset, which the type of a size does not have.
            return Response(refused.text, refused.status, headers={"content-type": refused.content_type})
        except sqlite3.Error as error:
            log.error("the database does not answer", error=str(error))
            return PlainTextResponse("the witness cannot write\n", HTTPStatus.SERVICE_UNAVAILABLE)
        return PlainTextResponse(lines)

    async def show_latest(request: HttpRequest) -> Response:
        note = await asyncio.to_thread(store.latest, request.path_params["name"])
        if note is None:
            return PlainTextResponse("no checkpoint of such a log was cosigned\n", HTTPStatus.NOT_FOUND)
        return Response(note, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "max-age=5"})

    async def show_keys(_: HttpRequest) -> Response:
        return PlainTextResponse("".join(f"{key.verifier}\n" for key in store.keys))

    routes = [
        Route(f"/{PATH}", add_checkpoint, methods=["POST"]),
        Route("/{name:str}/checkpoint", show_latest),
        Route("/", show_keys),
    ]
    return Starlette(routes=routes)


async def _read(request: HttpRequest) -> bytes:
    """The body. Raises: Refused: the body is too long, or does not arrive."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_BODY_BYTES} bytes\n")
    except (TimeoutError, ClientDisconnect):
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive\n") from None
    return bytes(body)
