"""Asks a model of another family for its opinion of a claim.

Its answer is stored before the review begins, so that a worker which takes over pays for neither of them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Never

from analyses.opinion import ALTERNATIVES, LONGEST, PROMPT, STEP, TURNS, Weighed, read, weigh, write_parts
from contracts.v1.opinion import Opinion
from contracts.v1.parts import Usage
from kit.models.base import Brief, Model, ModelError, Published, Sampling, ask
from services.validator.answers import find_unpublished
from services.validator.ports import Blobs

_NO_ANSWER: Final = frozenset({"EmptyAnswer", "Refusal"})
"""Errors of a model that answered nothing: the gate abstains, as for an answer that cannot be read."""


class SecondOpinion:
    """Opinions of one model, paid for by the instance. `alternatives`: the server gives probabilities of tokens."""

    def __init__(self, model: Model, blobs: Blobs, *, alternatives: bool = True) -> None:
        self._model = model
        self._blobs = blobs
        self._sampling = Sampling(LONGEST, 0.0, alternatives=ALTERNATIVES if alternatives else 0)

    async def ask(self, sentence: str, quotations: Sequence[str], step: str, *, resume: bool) -> Opinion:
        """The opinion of a sentence, of which the model gets the quotations and nothing else. Raises: ModelError.

        `resume`: use an answer that was stored under the step.
        """
        brief: Brief[Never, Weighed] = Brief(
            step=STEP,
            instructions=PROMPT.text,
            parts=write_parts(sentence, quotations),
            read=read,
            weigh=weigh,
            turns=TURNS,
            sampling=self._sampling,
            done=await find_unpublished(self._blobs, step) if resume else None,
            published=Published(),
        )
        try:
            finished = await ask(self._model, brief)
        except ModelError as error:
            if error.failure != "PARTIAL" and error.name not in _NO_ANSWER:
                raise
            transcript = (
                None if error.transcript is None else await self._blobs.put_text(error.transcript.decode(), step)
            )
            return Opinion(model=self._model.name, prompt=PROMPT, usage=error.usage or Usage(), transcript=transcript)
        transcript = await self._blobs.put_text(finished.transcript.decode(), step)
        await self._blobs.store_answer(transcript)
        return Opinion(
            model=finished.model,
            prompt=PROMPT,
            probability=finished.answer.probability,
            usage=finished.usage,
            transcript=transcript,
        )
