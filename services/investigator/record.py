"""What one attempt and those before it have exchanged with the model, so far, and where the next answer is kept.

An answer is stored under the name of the step it answers before the log hears of it. Whoever takes over from a worker
that died in between looks there first, so what was stored is never paid for again.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.transcript import Transcript, TranscriptSegment, join_segments, unpublished_tail
from contracts.v1 import InvestigationAdvanced, InvestigationRequested
from contracts.v1.parts import TextRef, Usage
from kit.models.recording import failure, written
from lifecycle.planning import Run, step_name
from services.investigator.ports import Blobs, Checkpoint, ModelError, Published


class Record:
    """The record of one attempt."""

    def __init__(self, blobs: Blobs, event: InvestigationRequested, run: Run) -> None:
        self._blobs = blobs
        self._event = event
        self._run = run
        self._stretches = list(run.done)
        self._taken_over = len(run.done)
        self.usage: Usage | None = None
        """What this attempt is known to have spent."""

    async def before(self) -> tuple[Transcript | None, Published | None]:
        """What was exchanged before this attempt, and how much of it was published; None: all.

        A record that cannot be read is none: the run begins anew.
        """
        done = await self._whole(self._run.done)
        if self._run.attempt_of_round == 1 or (done is None and self._run.done):
            return done, None
        for ref in await self._blobs.answers(self._step):
            if ref.sha256 in self._run.on_record:
                continue
            try:
                found = unpublished_tail(done, await self._blobs.get_text(ref))
            except (LookupError, ValueError):
                continue
            if found is not None:
                record, calls, lookups = found
                return record, Published(calls, lookups)
        return done, None

    async def advanced(self, checkpoint: Checkpoint) -> InvestigationAdvanced:
        """Keep a stretch; the fact that tells of it."""
        stretch = await self.kept(checkpoint.segment)
        self.usage = checkpoint.usage
        before = self._stretches[-1].sha256 if self._stretches and not checkpoint.begins else None
        if checkpoint.begins:
            self._stretches, self._taken_over = [], 0
        self._stretches.append(stretch)
        return InvestigationAdvanced(
            investigation_id=self._event.investigation_id,
            attempt=self._run.attempt,
            calls=checkpoint.calls,
            before=before,
            stretch=stretch,
            usage=checkpoint.usage,
        )

    async def kept(self, said: bytes) -> TextRef:
        """Keep what was said as the answer to the step that this attempt is at."""
        return await self._blobs.put_text(said.decode(), self._step)

    async def ended(self, error: ModelError) -> bytes | None:
        """The transcript of an attempt that is ended by us where it has advanced to; None if it said nothing."""
        record = await self._whole(self._stretches)
        earlier = await self._whole(self._stretches[: self._taken_over])
        if record is None:
            return None
        taken_over = len(earlier.calls) if earlier is not None else 0
        return written(record.model_copy(update={"error": failure(error), "taken_over": taken_over}))

    @property
    def _step(self) -> str:
        last = self._stretches[-1].sha256 if self._stretches else None
        return step_name(self._event.investigation_id, self._event.round, last)

    async def _whole(self, refs: Sequence[TextRef]) -> Transcript | None:
        try:
            return join_segments(
                [TranscriptSegment.model_validate_json(await self._blobs.get_text(ref)) for ref in refs]
            )
        except (LookupError, ValueError):
            return None
