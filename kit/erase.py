"""Removing single facts from the broker, wherever copies of them lie; only an erasure does this.

The server overwrites what it deletes. The sequence stays taken, so everybody else's place in the stream stays right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import nats.js.errors

from contracts.topology import AGAIN, DEAD
from kit import dead
from kit.bus import Bus, BusError

AT_ONCE = 16


class Undeletable(Exception):
    """The stream was made by a version that forbade to delete; it can only be made anew."""


async def erase_messages(bus: Bus, stream: str, sequences: Sequence[int]) -> None:
    """Remove facts and every dead letter and redelivery of them; those that are gone already are no error.

    Raises: Undeletable, BusError.
    """
    info = await bus.jetstream.stream_info(stream)
    if info.config.deny_delete:
        raise Undeletable(f"{stream} was made to forbid deletion: back up, and restore on an empty broker")
    wanted = set(sequences)
    copies = [kept.number async for kept in dead.letters(bus) if _is_of(kept.letter, stream, wanted)]
    await _delete(bus, DEAD.name, copies)
    await _delete(bus, AGAIN.name, await _redeliveries(bus, stream, wanted))
    await _delete(bus, stream, sequences)


def _is_of(letter: dead.DeadLetter, stream: str, sequences: set[int]) -> bool:
    return letter.stream == stream and letter.sequence in sequences


async def _redeliveries(bus: Bus, stream: str, sequences: set[int]) -> list[int]:
    state = (await bus.jetstream.stream_info(AGAIN.name)).state
    found = []
    for number in range(max(1, state.first_seq), state.last_seq + 1) if state.messages else ():
        try:
            message = await bus.jetstream.get_msg(AGAIN.name, number)
        except nats.js.errors.NotFoundError:
            continue
        headers = message.headers or {}
        if headers.get(dead.STREAM) == stream and int(headers.get(dead.SEQUENCE, 0)) in sequences:
            found.append(number)
    return found


async def _delete(bus: Bus, stream: str, sequences: Iterable[int]) -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(sequence: int) -> None:
        async with limit:
            try:
                await bus.jetstream.delete_msg(stream, sequence)
            except nats.js.errors.APIError as error:
                if await _is_there(bus, stream, sequence):
                    raise BusError(f"{stream} {sequence} could not be deleted: {error.description}") from error

    await asyncio.gather(*map(one, sequences))


async def _is_there(bus: Bus, stream: str, sequence: int) -> bool:
    try:
        await bus.jetstream.get_msg(stream, sequence)
    except nats.js.errors.NotFoundError:
        return False
    return True
