"""Visits a log as a monitor: reads its note and every new leaf, and keeps what it has seen in a file."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from kit.web import WebError
from kit.web.body import ACCEPT_ENCODING, read_body
from services.commands.log.exported import compare, read_export
from tlog.encoding import decode_base64, encode_base64
from tlog.errors import TlogError
from tlog.merkle import Tree
from tlog.monitor import Alarm, Pending, PendingState, Seen, Visit, inspect
from tlog.note import Note
from tlog.policy import Policy
from tlog.tiles import WIDTH, Bundle, decode_bundle

STALE_AFTER: Final = timedelta(hours=24)
AT_ONCE: Final = 8
LATEST: Final = 253_402_300_799
"""The last second of the year 9999; a witness may state any number."""
MAX_BUNDLE: Final = WIDTH * 65_537


class NotVisited(Exception):
    """The log could not be read, so nothing is known about it."""


class _Pending(BaseModel):
    """A leaf that a later one must refer to."""

    model_config = ConfigDict(extra="forbid")

    index: int
    state: PendingState
    t: int


class _State(BaseModel):
    """The file of a monitor."""

    model_config = ConfigDict(extra="forbid")

    origin: str
    size: int
    edge: tuple[str, ...]
    newest: int
    earlier: int = 0
    pending: tuple[_Pending, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a visit found."""

    size: int
    new: int
    cosignatures: int
    alarms: tuple[Alarm, ...]


async def visit(url: str, policy: Policy, file: Path, now: datetime, exported: Path | None = None) -> Report:
    """Read the new leaves, and store the state in `file` unless the tree is wrong; compare an export with all leaves.

    Raises: NotVisited: the server or the file could not be read. NotAnExport.
    """
    shown = None if exported is None else read_export(exported)
    seen, origin = _load(file)
    try:
        client = httpx.AsyncClient(base_url=f"{url.rstrip('/')}/", timeout=30, trust_env=False)
    except httpx.InvalidURL as error:
        raise NotVisited(f"{url}: {error}") from error
    async with client as http:
        note = await _get(http, "checkpoint", 1_000_000)
        try:
            valid = policy.verify(Note.parse(note))
        except TlogError as error:
            return Report(seen.tree.size, 0, 0, (Alarm(f"the note is not valid under the policy: {error}"),))
        checkpoint = valid.checkpoint
        if origin is not None and origin != checkpoint.origin:
            return Report(seen.tree.size, 0, 0, (Alarm(f"{checkpoint.origin} is not the earlier log, {origin}"),))
        try:
            first = seen.tree.size if shown is None else 0
            served = await _read_leaves(http, first, checkpoint.size)
        except TlogError as error:
            return Report(seen.tree.size, 0, 0, (Alarm(f"leaves cannot be read: {error}"),))
    leaves = served[seen.tree.size - first :]
    times = [each.time for each in valid.cosigned if each.time is not None]
    signed_at = datetime.fromtimestamp(min(max(times), LATEST), UTC) if times else None
    known, alarms = inspect(seen, Visit(checkpoint, leaves, now, signed_at), STALE_AFTER)
    if shown is not None and not alarms:
        _, alarms = inspect(Seen(), Visit(checkpoint, served, now, signed_at), STALE_AFTER)
        alarms += tuple(compare(shown, served))
    _save(file, checkpoint.origin, known)
    return Report(checkpoint.size, len(leaves), valid.cosignatures, alarms)


async def _read_leaves(http: httpx.AsyncClient, old: int, new: int) -> list[bytes]:
    """The leaves from one size to another. Raises: NotVisited. TlogError: they are malformed."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def read(number: int) -> tuple[bytes, ...]:
        bundle = Bundle(number, min(WIDTH, new - number * WIDTH))
        async with limit:
            return decode_bundle(bundle, await _get(http, bundle.path, MAX_BUNDLE))

    numbers = range(old // WIDTH, -(-new // WIDTH)) if new > old else range(0)
    found = await asyncio.gather(*map(read, numbers))
    return [leaf for leaves in found for leaf in leaves][old % WIDTH :]


async def _get(http: httpx.AsyncClient, path: str, limit: int) -> bytes:
    try:
        async with http.stream("GET", path, headers={"accept-encoding": ACCEPT_ENCODING}) as response:
            if response.status_code != 200:
                raise NotVisited(f"{path}: the server answered {response.status_code}")
            return await read_body(response.aiter_raw(), response.headers.get("content-encoding", ""), limit)
    except (httpx.HTTPError, WebError) as error:
        raise NotVisited(f"{path}: {type(error).__name__}: {error}") from error


def _load(file: Path) -> tuple[Seen, str | None]:
    try:
        state = _State.model_validate_json(file.read_bytes())
        tree = Tree(state.size, tuple(map(decode_base64, state.edge)))
        pending = {each.index: Pending(each.state, each.t) for each in state.pending}
        return Seen(tree, state.newest, state.earlier, pending), state.origin
    except FileNotFoundError:
        return Seen(), None
    except (OSError, ValidationError, ValueError) as error:
        raise NotVisited(f"{file} is not the file of a monitor: {error}") from error


def _save(file: Path, origin: str, seen: Seen) -> None:
    edge = tuple(map(encode_base64, seen.tree.edge))
    pending = tuple(_Pending(index=index, state=each.state, t=each.t) for index, each in seen.pending.items())
    state = _State(
        origin=origin, size=seen.tree.size, edge=edge, newest=seen.newest, earlier=seen.earlier, pending=pending
    )
    draft = file.with_name(f".{file.name}.draft")
    draft.write_text(f"{state.model_dump_json(indent=2)}\n")
    os.replace(draft, file)
