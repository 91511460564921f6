"""Asks the witnesses of the policy to cosign the newest note, all at once.

The size that a witness has cosigned is learned from its answers and not stored: after a restart each states it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx
import structlog

from kit.clock import Clock
from kit.witnesses import ask
from services.notary.domain import LogForked, StoredCheckpoint
from services.notary.ports import Tiles
from tlog.merkle import Hash, consistency_nodes, prove_consistency
from tlog.note import Note, Signature
from tlog.policy import Witness
from tlog.tiles import node_reader, tiles_with
from tlog.witnessing import Alarm, Cosigned, StopSigning, Wait

AGAIN_AFTER_S: Final = 3_600.0
"""A note that is still the newest is cosigned anew after this, so that its time shows that the witness is there."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _State:
    """What is known of a witness.

    Shapes: `size` is that of the note it last cosigned, `refused` that of one it refused. Units: seconds of the
    monotonic clock; before `not_before` it is not asked at all, before `again_at` not about the same note.
    """

    witness: Witness
    url: str
    size: int = 0
    failures: int = 0
    not_before: float = 0.0
    again_at: float = 0.0
    refused: int | None = None

    def is_due(self, size: int, now: float) -> bool:
        """Whether to ask the witness about a note of this size now."""
        is_news = self.size < size or self.again_at <= now
        return is_news and self.not_before <= now and self.refused != size


@dataclass(slots=True)
class Witnesses:
    """All witnesses of a policy that can be reached."""

    tiles: Tiles
    http: httpx.AsyncClient
    clock: Clock
    states: list[_State] = field(default_factory=list)
    forked: str | None = None

    @classmethod
    def of(cls, tiles: Tiles, witnesses: Sequence[Witness], http: httpx.AsyncClient, clock: Clock) -> Witnesses:
        """The witnesses that have an address."""
        return cls(tiles, http, clock, [_State(each, each.url) for each in witnesses if each.url is not None])

    async def cosign(self, checkpoint: StoredCheckpoint) -> Sequence[Signature]:
        """New cosignatures of a note; none from witnesses that have cosigned it lately or must not be asked yet.

        Raises: LogForked: a witness has seen another history; from then on always.
        """
        now = self.clock.monotonic()
        asked = [each for each in self.states if each.is_due(checkpoint.size, now)]
        found = await asyncio.gather(*(self._ask(each, checkpoint) for each in asked))
        if self.forked is not None:
            raise LogForked(self.forked)
        return [line for lines in found for line in lines]

    async def _ask(self, state: _State, checkpoint: StoredCheckpoint) -> Sequence[Signature]:
        note = Note.parse(checkpoint.note)
        old = min(state.size, checkpoint.size)
        action = await ask(self.http, state.url, [state.witness.key], note, old, self._prove, state.failures)
        now = self.clock.monotonic()
        match action:
            case Cosigned(signatures):
                state.size, state.failures, state.again_at = checkpoint.size, 0, now + AGAIN_AFTER_S
                return [each.signature for each in signatures]
            case Wait(seconds, reason, failed):
                state.failures += failed
                state.not_before = now + seconds
                log.warning("not witnessed", witness=state.witness.name, reason=reason, again_after_s=seconds)
            case Alarm(reason):
                state.refused = checkpoint.size
                log.error("a witness refuses a note", witness=state.witness.name, reason=reason, size=checkpoint.size)
            case StopSigning(reason):
                self.forked = f"{state.witness.name}: {reason}"
        return ()

    async def _prove(self, old: int, new: int) -> tuple[Hash, ...]:
        tiles = {tile: await self.tiles.read_tile(tile) for tile in tiles_with(consistency_nodes(old, new), new)}
        return prove_consistency(old, new, node_reader(new, tiles))
