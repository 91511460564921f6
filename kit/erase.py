"""Erase single facts from the broker, with all copies of them.

The server overwrites a deleted message. Its sequence is not reused, so positions in the stream stay valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import nats.js.errors

from contracts.topology import DEAD, REDELIVERY
from kit import dead_letters
from kit.bus import Bus
from kit.publisher import BusError

MAX_CONCURRENCY = 16


class Undeletable(Exception):
    """The stream was created by a version that forbade deletion; it must be created again."""


async def erase_messages(bus: Bus, stream: str, sequences: Sequence[int]) -> None:
    """Delete facts with their dead letters and redeliveries; a fact that is already deleted is no error.

    Raises: Undeletable, BusError.
    """
    info = await bus.jetstream.stream_info(stream)
    if info.config.deny_delete:
        raise Undeletable(f"{stream} was made to forbid deletion: back up, and restore on an empty broker")
    await _delete(bus, stream, sequences)  # first, so that no delivery adds another copy meanwhile
    wanted = set(sequences)
    copies = [
        stored.number
        async for stored in dead_letters.read_all(bus)
        if stored.dead_letter.origin.stream == stream and stored.dead_letter.origin.sequence in wanted
    ]
    await _delete(bus, DEAD.name, copies)
    await _delete(bus, REDELIVERY.name, await _find_redeliveries(bus, stream, wanted))


async def _find_redeliveries(bus: Bus, stream: str, sequences: set[int]) -> list[int]:
    state = (await bus.jetstream.stream_info(REDELIVERY.name)).state
    found = []
    for number in range(max(1, state.first_seq), state.last_seq + 1) if state.messages else ():
        try:
            message = await bus.jetstream.get_msg(REDELIVERY.name, number)
        except nats.js.errors.NotFoundError:
            continue
        headers = message.headers or {}
        if headers.get(dead_letters.STREAM) == stream and int(headers.get(dead_letters.SEQUENCE, 0)) in sequences:
            found.append(number)
    return found


async def _delete(bus: Bus, stream: str, sequences: Iterable[int]) -> None:
    limit = asyncio.Semaphore(MAX_CONCURRENCY)

    async def delete_one(sequence: int) -> None:
        async with limit:
            try:
                await bus.jetstream.delete_msg(stream, sequence)
            except nats.js.errors.APIError as error:
                if await _exists(bus, stream, sequence):
                    raise BusError(f"{stream} {sequence} could not be deleted: {error.description}") from error

    await asyncio.gather(*map(delete_one, sequences))


async def _exists(bus: Bus, stream: str, sequence: int) -> bool:
    try:
        await bus.jetstream.get_msg(stream, sequence)
    except nats.js.errors.NotFoundError:
        return False
    return True
