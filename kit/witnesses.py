"""Ask a witness to cosign a checkpoint; tlog/witnessing.py interprets the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeAlias

import httpx

from kit.web import WebError
from kit.web.body import ACCEPT_ENCODING, read_body
from tlog.checkpoint import Checkpoint
from tlog.keys import VerifierKey
from tlog.merkle import Hash
from tlog.note import Note
from tlog.witnessing import PATH, Action, Answer, ProveFrom, Submission, decide

TIMEOUT_S: Final = 10.0
MAX_ANSWER_BYTES: Final = 64 * 1024

Prove: TypeAlias = Callable[[int, int], Awaitable[tuple[Hash, ...]]]
"""Returns the consistency proof from one size to another, neither of them 0."""


async def ask(
    http: httpx.AsyncClient,
    url: str,
    keys: Collection[VerifierKey],
    note: Note,
    old: int,
    prove: Prove,
    failures: int = 0,
    timeout_s: float = TIMEOUT_S,
) -> Action:
    """Submit a checkpoint to the witness at a submission prefix; if it names another old size, submit again from that.

    `old` is the size that the witness cosigned last, as far as is known; `failures` how often it failed in a row
    before. Each request has `timeout_s` seconds. Never returns ProveFrom. Raises: what `prove` raises.
    """
    size = Checkpoint.parse(note.text).size
    tries = 1
    while True:
        sent = Submission(old, await prove(old, size) if 0 < old < size else (), note)
        action = decide(
            sent, await _post(http, f"{url.rstrip('/')}/{PATH}", bytes(sent), timeout_s), keys, tries, failures
        )
        if not isinstance(action, ProveFrom):
            return action
        old, tries = action.old, tries + 1


async def _post(http: httpx.AsyncClient, url: str, body: bytes, timeout_s: float) -> Answer:
    headers = {"accept-encoding": ACCEPT_ENCODING}
    try:
        async with (
            asyncio.timeout(timeout_s),
            http.stream("POST", url, content=body, headers=headers, follow_redirects=False) as response,
        ):
            encoding = response.headers.get("content-encoding", "")
            try:
                received = await read_body(response.aiter_raw(), encoding, MAX_ANSWER_BYTES)
            except WebError:
                return Answer(response.status_code)
    except (httpx.HTTPError, TimeoutError):
        return Answer(None)
    return Answer(response.status_code, received, response.headers.get("content-type", ""))
