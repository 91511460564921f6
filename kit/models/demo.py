"""An offline model that knows a catalogue of well-known errors and nothing else.

It has the same port as a real provider and labels each answer as a demonstration. It may miss errors, but must never
flag a sentence outside the catalogue: a false accusation is worse than a missed error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Final

from pydantic import BaseModel, SecretStr

from contracts.transcript import Call, Research, Transcript
from contracts.v1.parts import ClaimPayload, ModelName, Usage
from kit.clock import Clock, SystemClock
from kit.models.base import (
    AnswerT,
    Article,
    Brief,
    ClaimInDoubt,
    Decision,
    DecisionT,
    Finished,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    Tool,
)
from kit.models.demo_audit import answer_step
from kit.models.demo_catalogue import Catalogue, Entry, catalogue
from kit.models.demo_findings import find_errors, is_about_errors, is_doubted
from kit.models.demo_reading import Sentence, fold
from kit.models.recording import describe_parts

SUBMIT: Final = "submit_correction"
RETAIN: Final = "retain_correction"
FREE: Final = Usage(cost_micro_usd=0)
CONTEXT_WORDS = 10
_REVIEW_REACH = 3


class _Call(BaseModel):
    id: str
    name: str
    arguments: str


class _Calls(BaseModel):
    calls: list[_Call]


class _Review(BaseModel):
    approved: bool
    reason: str


class DemoModel:
    """The model of the catalogue. Units: `pace_s` is the delay before each answer, so that progress is visible.

    With a `record` it repeats the recorded answers instead of using the present catalogue.
    """

    labelled_demo = True
    sees_pictures = False
    takes_readers_keys = False
    charges = ()

    def __init__(
        self,
        *,
        pace_s: float = 0.0,
        known: Catalogue | None = None,
        record: Transcript | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._catalogue = known or catalogue()
        self._pace_s = pace_s
        self._record = record
        version = self._catalogue.version if record is None else str(record.calls[0].request["catalogue"])
        self.name = ModelName(provider="demo", model="demo-catalogue", version=version)

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Finished[AnswerT], None]:
        """Yield each catalogued error of an article once, in order; or answer a review, or a step of an audit.

        Raises: ModelError.
        """
        research: tuple[Research, ...] = ()
        match brief.subject:
            case Article() as article:
                made: list[_Call] = []
                decisions = 0
                for alternatives in self._plan_calls(article, brief.tools):
                    if self._pace_s:
                        await asyncio.sleep(self._pace_s)
                    for call in alternatives:
                        made.append(call)
                        try:
                            decided = brief.decide(call.name, call.arguments)
                        except ValueError:
                            continue
                        decisions += 1
                        yield Decision(call.id, decided)
                        break
                body = _Calls(calls=made).model_dump_json()
                answer = f"Demonstration, no model was asked: {decisions} of the catalogue's sentences found."
            case ClaimInDoubt() as review:
                if self._pace_s:
                    await asyncio.sleep(self._pace_s)
                body = answer = self._review(review)
            case None:
                if self._pace_s:
                    await asyncio.sleep(self._pace_s)
                answered = await answer_step(brief, self._catalogue, self._clock)
                body, answer, research = answered.text, answered.text, answered.research
        transcript = self._transcript(brief, body, research)
        yield Finished(brief.read(answer, research), FREE, self.name, transcript)

    def _review(self, review: ClaimInDoubt) -> str:
        """Review a claim by a stricter rule, which rejects disputed entries."""
        if self._record is not None:
            return self._record.calls[0].body
        objection = _objection(review.claim, review.text, self._catalogue)
        return _Review(approved=objection is None, reason=objection or "").model_dump_json()

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Refuse: there is no provider to test the key with."""
        return KeyRefused("error", "This instance runs the demonstration catalogue, which uses no API key.")

    async def probe_own(self) -> KeyStatus:
        """Report success: no key is needed."""
        return KeyAccepted()

    def _plan_calls(self, article: Article, tools: tuple[Tool, ...]) -> Iterator[tuple[_Call, ...]]:
        """For each finding, the calls to try in turn until one is accepted."""
        if self._record is None:
            yield from _plan_calls(article, tools, self._catalogue)
        else:
            yield from ((call,) for call in _Calls.model_validate_json(self._record.calls[0].body).calls)

    def _transcript(self, brief: Brief[DecisionT, AnswerT], body: str, research: tuple[Research, ...]) -> bytes:
        transcript = Transcript(
            step=brief.step,
            protocol="demo",
            provider=self.name.provider,
            model=self.name.model,
            instructions=brief.instructions,
            input=describe_parts(brief.parts),
            tools=tuple(
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                }
                for tool in brief.tools
            ),
            calls=(Call(request={"demo": True, "catalogue": self.name.version}, body=body),),
            research=research,
        )
        return transcript.model_dump_json().encode()


def _plan_calls(article: Article, tools: tuple[Tool, ...], known: Catalogue) -> Iterator[tuple[_Call, ...]]:
    offered = any(tool.name == RETAIN for tool in tools)
    retained = {text: str(claim_id) for claim_id, text in article.old_claims.items()} if offered else {}
    for entry, claim in _findings(article.text, known):
        submit = _Call(id=f"demo-{entry.id}", name=SUBMIT, arguments=claim.model_dump_json())
        if claim.text in retained:
            retain = json.dumps({"id": retained[claim.text]})
            yield _Call(id=f"demo-keep-{entry.id}", name=RETAIN, arguments=retain), submit
        else:
            yield (submit,)


def _findings(text: str, known: Catalogue) -> Iterator[tuple[Entry, ClaimPayload]]:
    for entry, sentence in find_errors(text, known):
        context = _context(text, sentence)
        if context is not None:
            yield (
                entry,
                ClaimPayload(
                    text=text[sentence.start : sentence.end],
                    context=context,
                    summary=entry.summary,
                    reasoning=entry.reasoning.strip(),
                    sources=entry.published_sources(),
                ),
            )


def _objection(claim: ClaimPayload, text: str, known: Catalogue) -> str | None:
    entry = known.by_sentence.get(fold(claim.text))
    if entry is None:
        return "The sentence is not in the demonstration catalogue."
    if entry.disputed:
        return "Serious sources disagree about this; only what is beyond dispute may be shown."
    if not {source.url for source in claim.sources} <= {source.url for source in entry.sources}:
        return "The sources are not those of the catalogue."
    if claim.context not in text or claim.text not in claim.context:
        return "The quote cannot be found in the text."
    at = text.index(claim.context) + claim.context.index(claim.text)
    end = at + len(claim.text)
    if is_about_errors(text) or is_doubted(text, at, end, _REVIEW_REACH, known.by_sentence):
        return "The sentences around the quote leave room for another reading."
    return None


def _context(text: str, sentence: Sentence) -> str | None:
    """The sentence with ten words on either side, or more until that is unique; None if the sentence repeats in it."""
    quote = text[sentence.start : sentence.end]
    words = CONTEXT_WORDS
    while True:
        first, last = _go_back(text, sentence.start, words), _go_on(text, sentence.end, words)
        context = text[first:last].strip()  # as a submission is normalised
        if not _is_unique(quote, context):
            return None
        if _is_unique(context, text):
            return context
        words *= 2


def _is_unique(part: str, whole: str) -> bool:
    # Not str.count: a context that overlaps itself occurs at two places.
    return whole.find(part, whole.find(part) + 1) < 0


def _go_back(text: str, at: int, words: int) -> int:
    for _ in range(words + 1):
        at = text.rfind(" ", 0, at)
        if at < 0:
            return 0
    return at + 1


def _go_on(text: str, at: int, words: int) -> int:
    for _ in range(words):
        at = text.find(" ", at + 1)
        if at < 0:
            return len(text)
    return at
