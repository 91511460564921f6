"""A model that needs no network, no key and no luck: it knows a catalogue of well-known errors and nothing else.

It answers through the same port as a real provider and says at every turn that it is a demonstration. It may miss
anything, but must never flag a sentence outside the catalogue: a demonstration that accuses wrongly demonstrates the
wrong thing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator

from pydantic import SecretStr

from contracts.v1.parts import ClaimPayload, ModelName, Usage
from kit.models.base import Finished, InvestigationBrief, KeyRefused, KeyStatus, ReviewBrief, Submission, Verdict
from kit.models.demo_catalogue import Catalogue, Entry, catalogue
from kit.models.demo_doubt import about_errors, doubted
from kit.models.demo_reading import Sentence, between_single_quotes, fold, plain_sentences, quotations

CONTEXT_WORDS = 10
_REVIEW_REACH = 3


class DemoModel:
    """Model over the catalogue. Units: `pace_s` is the pause before each answer, so that progress can be watched."""

    labelled_demo = True
    sees_pictures = False

    def __init__(self, *, pace_s: float = 0.0, known: Catalogue | None = None) -> None:
        self._known = known or catalogue()
        self._pace_s = pace_s
        self.name = ModelName(provider="demo", model="demo-catalogue", version=self._known.version)

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Submission | Finished, None]:
        """Submit each catalogued error in order of appearance, once, where it can be anchored."""
        findings: list[dict[str, str]] = []
        for entry, claim in _findings(brief.text, self._known):
            if self._pace_s:
                await asyncio.sleep(self._pace_s)
            try:
                parsed = brief.parse(claim.model_dump_json())
            except ValueError as error:
                findings.append({"entry": entry.id, "text": claim.text, "error": str(error)})
                continue
            findings.append({"entry": entry.id, "text": claim.text})
            yield Submission(call_id=f"demo-{entry.id}", claim=parsed)
        yield Finished(
            usage=Usage(),
            model=self.name,
            transcript=self._transcript("investigation", findings=findings),
            response_id=None,
            output_text=f"Demonstration, no model was asked: {len(findings)} of the catalogue's sentences found.",
        )

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Look the claim up again by a stricter rule; what serious sources dispute is rejected here."""
        if self._pace_s:
            await asyncio.sleep(self._pace_s)
        reason = _objection(brief.claim, brief.text, self._known)
        return Verdict(
            approved=reason is None,
            reason=reason,
            usage=Usage(),
            model=self.name,
            transcript=self._transcript("review", text=brief.claim.text, approved=reason is None, reason=reason),
        )

    async def probe(self, key: SecretStr) -> KeyStatus:
        """There is no provider to ask about the key."""
        return KeyRefused("error", "This instance runs the demonstration catalogue, which uses no API key.")

    def _transcript(self, stage: str, **said: object) -> bytes:
        head = {"demo": True, "model": self.name.model, "catalogue": self._known.version, "stage": stage}
        return json.dumps({**head, **said}, ensure_ascii=False).encode()


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
