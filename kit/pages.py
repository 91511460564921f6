"""Read a stream by pages, directly from its store, without a consumer on the broker.

The reader decides when the next page comes, so a slow reader costs the broker nothing and holds one page at most.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg

from kit.bus import Bus
from kit.errors import Outage
from kit.ordered import StoredMessage

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class LogPage:
    """Messages in the order of the log. `more`: the log has further ones."""

    messages: tuple[StoredMessage, ...]
    more: bool


async def read_page(
    bus: Bus, stream: str, patterns: Sequence[str], *, after: int, limit: int, max_bytes: int | None = None
) -> LogPage:
    """The first messages after the sequence `after` on subjects of any of the patterns, which must not overlap.

    Shapes: rising sequences; at most `limit` messages, and about `max_bytes`, of each pattern. Patterns are not read at
    the same moment: of messages stored meanwhile, one may be missing while a later one is there.

    Raises: Outage: the log could not be read now.
    """
    question = {"batch": limit, "seq": after + 1} | ({"max_bytes": max_bytes} if max_bytes else {})
    parts = await asyncio.gather(
        *(direct_get(bus, stream, question | {"next_by_subj": pattern}) for pattern in patterns)
    )
    if any(pending and not found for found, pending in parts):
        raise Outage(1.0, "the log announced more messages and returned none")
    # Nothing is known about a pattern after the end of its page, unless that page is its last.
    known_to = min((found[-1].sequence for found, pending in parts if found and pending), default=None)
    merged = sorted((message for found, _ in parts for message in found), key=lambda message: message.sequence)
    if known_to is None:
        return LogPage(tuple(merged), more=False)
    return LogPage(tuple(message for message in merged if message.sequence <= known_to), more=True)


async def read_last_sequence(bus: Bus, stream: str) -> int:
    """The sequence of the newest message on any subject; 0 if there was never a message.

    Raises: Outage: the log could not be read now.
    """
    try:
        async with bus.link.require_answers():
            return (await bus.jetstream.stream_info(stream)).state.last_seq
    except (TimeoutError, nats.errors.Error, nats.js.errors.Error) as error:
        raise Outage(1.0, f"the log could not be read: {str(error) or 'timeout'}") from error


async def read_storage_left(bus: Bus, streams: Sequence[str]) -> list[int]:
    """The bytes left below each limit of the account and the streams.

    Raises: Outage: the broker could not be read now.
    """
    try:
        account = await bus.jetstream.account_info()
        found = [(await bus.jetstream.stream_info(stream)) for stream in streams]
    except (TimeoutError, nats.errors.Error, nats.js.errors.Error) as error:
        raise Outage(1.0, f"the broker could not be read: {error}") from error
    limits: list[tuple[int | None, int]] = [(account.limits.max_storage, account.storage)]
    limits += [(stream.config.max_bytes, stream.state.bytes) for stream in found]
    return [limit - used for limit, used in limits if limit is not None and limit > 0]


async def find_first_since(bus: Bus, stream: str, moment: datetime) -> int | None:
    """The sequence of the first message stored at or after a moment; None if there is none yet.

    Raises: Outage: the log could not be read now.
    """
    question = {"batch": 1, "start_time": moment.isoformat(), "next_by_subj": ">"}
    found, _ = await direct_get(bus, stream, question)
    return found[0].sequence if found else None


async def direct_get(bus: Bus, stream: str, question: dict[str, object]) -> tuple[list[StoredMessage], int]:
    """One batch of stored messages, and the number of further ones that match.

    Raises: Outage: the log could not be read now.
    Source: NATS ADR-31.
    """
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    found: list[StoredMessage] = []

    def take(message: Msg) -> None:
        headers = message.headers or {}
        status = headers.get("Status")
        if done.done():
            return
        if status is None:
            found.append(_parse_message(stream, message.data, headers))
        elif status == "204":
            done.set_result(int(headers.get("Nats-Num-Pending", 0)))
        elif status == "404":
            done.set_result(0)
        else:
            done.set_exception(outage_of_status(status, headers))

    inbox = bus.inbox.collect(take)
    try:
        await bus.client.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(question).encode(), reply=inbox)
        async with asyncio.timeout(TIMEOUT_S), bus.link.require_answers():
            pending = await done
    except (TimeoutError, nats.errors.Error) as error:
        raise Outage(1.0, f"the log could not be read: {str(error) or 'timeout'}") from error
    finally:
        bus.inbox.discard(inbox)
    return sorted(found, key=lambda message: message.sequence), pending


def _parse_message(stream: str, data: bytes, headers: dict[str, str]) -> StoredMessage:
    time = datetime.fromisoformat(headers["Nats-Time-Stamp"])
    return StoredMessage(stream, int(headers["Nats-Sequence"]), headers["Nats-Subject"], data, time)


def outage_of_status(status: str, headers: Mapping[str, str]) -> Outage:
    """The exception for an answer that has a status and no message."""
    if status == "503":  # of such an answer the client returns no description
        return Outage(1.0, "the log does not answer; if it stays so, run `openerrata topology apply`")
    return Outage(1.0, f"the log answered {status} {headers.get('Description', '')}")
