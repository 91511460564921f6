"""A model that needs no network, no key and no luck: it knows a catalogue of well-known errors and nothing else.

It answers through the same port as a real provider and says at every turn that it is a demonstration. It may miss
anything, but must never flag a sentence outside the catalogue: a demonstration that accuses wrongly demonstrates the
wrong thing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

from pydantic import BaseModel, SecretStr

from contracts.transcript import Call, Transcript
from contracts.v1.parts import ClaimPayload, ModelName, Usage
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
    ModelError,
    Tool,
)
from kit.models.demo_catalogue import Catalogue, Entry, catalogue
from kit.models.demo_doubt import about_errors, doubted
from kit.models.demo_reading import Sentence, between_single_quotes, fold, plain_sentences, quotations
from kit.models.recording import recorded_parts

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
    """Model over the catalogue. Units: `pace_s` is the pause before each answer, so that progress can be watched.

    With a `record` its answers are those on record, not the catalogue's of today.
    """

    labelled_demo = True
    sees_pictures = False
    takes_readers_keys = False

    def __init__(
        self, *, pace_s: float = 0.0, known: Catalogue | None = None, record: Transcript | None = None
    ) -> None:
        self._known = known or catalogue()
        self._pace_s = pace_s
        self._record = record
        version = self._known.version if record is None else str(record.calls[0].request["catalogue"])
        self.name = ModelName(provider="demo", model="demo-catalogue", version=version)

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Finished[AnswerT], None]:
        """Each catalogued error of an article in order, once, or the answer to a doubt. Raises: ModelError."""
        match brief.subject:
            case Article() as article:
                made: list[_Call] = []
                decisions = 0
                for wish in self._wishes(article, brief.tools):
                    if self._pace_s:
                        await asyncio.sleep(self._pace_s)
                    for call in wish:
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
            case ClaimInDoubt() as doubted:
                if self._pace_s:
                    await asyncio.sleep(self._pace_s)
                body = answer = self._review(doubted)
            case None:
                reason = f"The demonstration catalogue knows nothing of the step {brief.step}."
                raise ModelError("NON_RETRYABLE", reason, name="NoDemo")
        yield Finished(brief.read(answer, ()), FREE, self.name, self._transcript(brief, body))

    def _review(self, doubted: ClaimInDoubt) -> str:
        """The claim looked up again by a stricter rule; what serious sources dispute is rejected here."""
        if self._record is not None:
            return self._record.calls[0].body
        objection = _objection(doubted.claim, doubted.text, self._known)
        return _Review(approved=objection is None, reason=objection or "").model_dump_json()

    async def probe(self, key: SecretStr) -> KeyStatus:
        """There is no provider to ask about the key."""
        return KeyRefused("error", "This instance runs the demonstration catalogue, which uses no API key.")

    async def probe_own(self) -> KeyStatus:
        """It always answers."""
        return KeyAccepted()

    def _wishes(self, article: Article, tools: tuple[Tool, ...]) -> Iterator[tuple[_Call, ...]]:
        """Per finding the calls to try in turn until one is taken."""
        if self._record is None:
            yield from _wishes(article, tools, self._known)
        else:
            yield from ((call,) for call in _Calls.model_validate_json(self._record.calls[0].body).calls)

    def _transcript(self, brief: Brief[Any, Any], body: str) -> bytes:
        said = Transcript(
            step=brief.step,
            protocol="demo",
            provider=self.name.provider,
            model=self.name.model,
            instructions=brief.instructions,
            input=recorded_parts(brief.parts),
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
        )
        return said.model_dump_json().encode()


def _wishes(article: Article, tools: tuple[Tool, ...], known: Catalogue) -> Iterator[tuple[_Call, ...]]:
    offered = any(tool.name == RETAIN for tool in tools)
    kept = {text: str(claim_id) for claim_id, text in article.old_claims.items()} if offered else {}
    for entry, claim in _findings(article.text, known):
        submit = _Call(id=f"demo-{entry.id}", name=SUBMIT, arguments=claim.model_dump_json())
        if claim.text in kept:
            retain = json.dumps({"id": kept[claim.text]})
            yield _Call(id=f"demo-keep-{entry.id}", name=RETAIN, arguments=retain), submit
        else:
            yield (submit,)


def _findings(text: str, known: Catalogue) -> Iterator[tuple[Entry, ClaimPayload]]:
    if about_errors(text):
        return
    quoted = quotations(text)
    found: set[str] = set()
    for sentence in plain_sentences(text):
        entry = known.by_sentence.get(sentence.words)
        if entry is None or entry.id in found:
            continue
        start, end = sentence.start, sentence.end
        if any(first < start < last for first, last in quoted) or between_single_quotes(text, start, end):
            continue
        if doubted(text, start, end, reach=1, known=known.by_sentence):
            continue
        found.add(entry.id)
        context = _context(text, sentence)
        if context is not None:
            yield (
                entry,
                ClaimPayload(
                    text=text[start:end],
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
    if about_errors(text) or doubted(text, at, end, _REVIEW_REACH, known.by_sentence):
        return "The sentences around the quote leave room for another reading."
    return None


def _context(text: str, sentence: Sentence) -> str | None:
    """About ten words on either side, more where needed to tell this place from others; None if nothing does."""
    quote = text[sentence.start : sentence.end]
    words = CONTEXT_WORDS
    while True:
        first, last = _back(text, sentence.start, words), _on(text, sentence.end, words)
        context = text[first:last]
        if not _once(quote, context):
            return None
        if _once(context, text):
            return context
        words *= 2


def _once(part: str, whole: str) -> bool:
    # Not str.count: a context that overlaps itself occurs at two places.
    return whole.find(part, whole.find(part) + 1) < 0


def _back(text: str, at: int, words: int) -> int:
    for _ in range(words + 1):
        at = text.rfind(" ", 0, at)
        if at < 0:
            return 0
    return at + 1


def _on(text: str, at: int, words: int) -> int:
    for _ in range(words):
        at = text.find(" ", at + 1)
        if at < 0:
            return len(text)
    return at
