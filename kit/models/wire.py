"""Transports below the provider's client library: one records responses, the other plays them back.

Both are at the same level, so a replay runs all of our code and all of the library's. Bodies are recorded decompressed,
so headers about compression are dropped.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Final

import httpx2

from contracts.transcript import Call, Ending, Transcript
from kit.models.recording import Recorder
from kit.models.timeouts import ActivityDetector, Deadlines, Timeouts

_ENCODING_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_CONNECTING: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
_MAX_REDIRECTS: Final = 5


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Sends requests through a client shared by all runs and records the responses of this one.

    Requests that the record `done` has are answered from it.
    """

    def __init__(
        self, http: httpx2.AsyncClient, recorder: Recorder, timeouts: Timeouts, done: Transcript | None = None
    ) -> None:
        self._http = http
        self._deadlines = Deadlines(timeouts)
        self._recorder = recorder
        self._played = httpx2.AsyncClient(transport=Playback(done)) if done else http
        self._left = len(done.calls) if done else 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and record its response."""
        try:
            async with asyncio.timeout_at(self._deadlines.begin_call()):
                response = await _send(self._played if self._left else self._http, request)
        except TimeoutError:
            self._recorder.end_call("timeout")
            raise httpx2.ReadTimeout("no answer in time") from None
        except httpx2.TransportError as error:
            self._recorder.end_call(_ending(error))
            raise
        finally:
            self._left = max(0, self._left - 1)
        self._recorder.status(response.status_code, response.headers)
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() not in _ENCODING_HEADERS
        ]
        return httpx2.Response(
            response.status_code, headers=headers, stream=_RecordedStream(response, self._recorder, self._deadlines)
        )


async def _send(http: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Follow redirects within one origin only: for others the client removes `Authorization`, but no other key."""
    own = (request.url.origin, request.url.copy_with(scheme="https").origin)
    for _ in range(_MAX_REDIRECTS):
        response = await http.send(request, stream=True, follow_redirects=False)
        if response.next_request is None or response.next_request.url.origin not in own:
            return response
        await response.aclose()
        request = response.next_request
    raise httpx2.TooManyRedirects("redirected too often", request=request)


class _RecordedStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, recorder: Recorder, deadlines: Deadlines) -> None:
        self._response = response
        self._recorder = recorder
        self._deadlines = deadlines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            activity = ActivityDetector(self._response.headers.get("content-type", ""))
            async with aclosing(self._deadlines.enforce(self._response.aiter_bytes(), activity)) as pieces:  # type: ignore[type-var]  # async generators have aclose
                async for data in pieces:
                    self._recorder.chunk(data)
                    yield data
        except httpx2.TransportError as error:
            self._recorder.end_call(_ending(error))
            raise
        except httpx2.DecodingError:
            self._recorder.end_call("lost")
            raise httpx2.ReadError("the answer could not be unpacked") from None
        self._recorder.end_call("complete")

    async def aclose(self) -> None:
        self._recorder.end_call("closed")
        await self._response.aclose()


class Playback(httpx2.AsyncBaseTransport):
    """Answers requests with the recorded responses, in their order."""

    def __init__(self, transcript: Transcript) -> None:
        self._calls: Iterator[Call] = iter(transcript.calls)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer with the next recorded response."""
        call = next(self._calls, None)
        if call is None:
            raise httpx2.ConnectError("the record holds no further call")
        if call.status is None:
            raise _error(call.ending)
        return httpx2.Response(call.status, headers=call.headers, stream=_Played(call))


class _Played(httpx2.AsyncByteStream):
    def __init__(self, call: Call) -> None:
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = self._call.body
        yield body.encode() if self._call.encoding == "utf-8" else b64decode(body)
        if self._call.ending in ("timeout", "lost"):
            raise _error(self._call.ending)


def _ending(error: Exception) -> Ending:
    if isinstance(error, _CONNECTING):
        return "unreached"
    return "timeout" if isinstance(error, httpx2.TimeoutException) else "lost"


def _error(ending: Ending | None) -> httpx2.TransportError:
    match ending:
        case "timeout":
            return httpx2.ReadTimeout("as recorded")
        case "unreached":
            return httpx2.ConnectError("as recorded")
        case _:
            return httpx2.ReadError("as recorded")
