"""A log that holds very many analysed claims. Written in large batches, since only its size matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid4

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested
from kit.bus import Bus
from kit.history import StoredFact
from kit.publisher import Outgoing
from tests.support.envelopes import encode

PER_BATCH: Final = 500
"""A batch holds at most 1,000 messages, and each claim has two."""


async def store_claims(bus: Bus, facts: Sequence[StoredFact], count: int) -> Sequence[UUID]:
    """Store `count` assertions, each requested and analysed as the one in `facts`; return their ids.

    All share the run and the body of that analysis.
    """
    bodies: dict[str, tuple[str, bytes]] = {}
    for fact in facts:
        if isinstance(fact.event, AssertionAnalysisRequested | AssertionAnalysed):
            bodies.setdefault(fact.event.SUBJECT, (fact.event.key(), encode(fact.envelope)))
    ids: list[UUID] = []
    while len(ids) < count:
        some = [uuid4() for _ in range(min(PER_BATCH, count - len(ids)))]
        await _store(
            bus,
            [
                (f"{subject}.{each}", body.replace(known.encode(), str(each).encode()))
                for each in some
                for subject, (known, body) in bodies.items()
            ],
        )
        ids += some
    return ids


async def _store(bus: Bus, messages: Sequence[tuple[str, bytes]]) -> None:
    batch = str(uuid4())
    for number, (subject, body) in enumerate(messages, 1):
        headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number), "Nats-Expected-Stream": JOBS.name}
        if number < len(messages):
            await bus.client.publish(subject, body, headers=headers)
        else:
            committing = Outgoing(subject, body, headers | {"Nats-Batch-Commit": "1"})
            await bus.wait_for_receipt(await bus.send(committing))
