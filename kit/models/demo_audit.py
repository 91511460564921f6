"""The demonstration's answers in the steps of an audit: sentences of the catalogue, and their sources.

It reads its message as a model would, so callers need no special case. Each answer is labelled as a demonstration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from contracts.transcript import Research
from kit.clock import Clock
from kit.models.base import AnswerT, Brief, DecisionT, ModelError
from kit.models.demo_catalogue import Catalogue, Entry
from kit.models.demo_findings import find_errors
from kit.models.demo_reading import fold

LABEL: Final = "Demonstration, no model was asked."
QUOTE_WORDS: Final = 25
FETCH: Final = "fetch_url"
_BLOCK: Final = re.compile(r"<<<BEGIN ([A-Z]+) ([^>]*)>>>\n(.*?)\n<<<END \1 \2>>>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as JSON, and what was looked up for it."""

    text: str
    research: tuple[Research, ...] = ()


async def answer_step(brief: Brief[DecisionT, AnswerT], known: Catalogue, clock: Clock) -> Answered:
    """Answer a step of an audit. Raises: ModelError: the step is unknown."""
    blocks = {found[1]: found[3] for found in _BLOCK.finditer(brief.words)}
    match brief.step:
        case "CLAIM_AUDIT/extract":
            return Answered(json.dumps(_extract(blocks["ARTICLE"], known)))
        case "CLAIM_AUDIT/analyse":
            entry = known.by_sentence.get(fold(blocks["CLAIM"]))
            research = await _look_up(brief, entry, clock) if entry else ()
            return Answered(json.dumps(_analyse(entry)), research)
        case "CLAIM_AUDIT/assess":
            return Answered(json.dumps(_assess(len(json.loads(blocks["ANALYSES"])["claims"]))))
        case _:
            reason = f"The demonstration catalogue knows nothing of the step {brief.step}."
            raise ModelError("NON_RETRYABLE", reason, name="NoDemo")


def _extract(article: str, known: Catalogue) -> Mapping[str, JsonValue]:
    claims: list[JsonValue] = [
        {"text": article[sentence.start : sentence.end], "is_central": True, "volatility": "TIMELESS"}
        for _, sentence in find_errors(article, known)
    ]
    return {"language": "en", "thesis": None, "claims": claims}


def _analyse(entry: Entry | None) -> Mapping[str, JsonValue]:
    scenario: dict[str, JsonValue] = {"description": "As the sentence stands.", "confidence": 0.0, "explanation": LABEL}
    if entry is not None:
        scenario |= {
            "probability": 0.5 if entry.disputed else 0.03,
            "confidence": 0.5 if entry.disputed else 0.95,
            "explanation": f"{LABEL} {entry.summary}",
            "evidence": [
                {
                    "supports": False,
                    "url": each.url,
                    "title": each.title,
                    "quotes": [" ".join(each.snippet.split()[:QUOTE_WORDS])],
                    "relevance": 0.9,
                }
                for each in entry.sources
            ],
        }
    return {"scenarios": [scenario], "recommended": 1}


def _assess(claims: int) -> Mapping[str, JsonValue]:
    found = "one sentence" if claims == 1 else f"{claims} sentences"
    return {
        "summary": f"{LABEL} The catalogue of well-known errors has {found} of this article.",
        "thesis_follows": True,
        "missing_context": False,
        "reasoning_quality": dict.fromkeys(
            ("evidence_strength", "logical_coherence", "transparency", "nuance"), "medium"
        ),
        "disclaimers": [LABEL],
    }


async def _look_up(brief: Brief[DecisionT, AnswerT], entry: Entry, clock: Clock) -> tuple[Research, ...]:
    """Open the entry's sources, as a model would."""
    opened: list[Research] = []
    for number, source in enumerate(entry.sources):
        arguments, began = json.dumps({"url": source.url}), clock.now()
        output = await brief.research[FETCH](arguments)
        opened.append(
            Research(
                call_id=f"demo-{number}",
                name=FETCH,
                arguments=arguments,
                output=output,
                started_at=began,
                completed_at=clock.now(),
            )
        )
    return tuple(opened)
