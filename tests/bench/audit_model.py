"""The steps of an audit, answered without latency: sentences that begin with "Claim" are the claims of an article."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from pydantic import JsonValue

from analyses.research import FETCH_URL
from contracts.transcript import Call, Research, Transcript
from contracts.v1.parts import ModelName, Usage
from kit.clock import SystemClock
from kit.models.base import Brief, Finished
from kit.models.demo_catalogue import catalogue
from kit.models.recording import describe_parts

CLAIMS: Final = 3
QUOTE_WORDS: Final = 12
FILLER: Final = " ".join(f"Sentence number {n} only fills the article." for n in range(45))
_CLAIM: Final = re.compile(r"Claim [a-z0-9]+ of [a-z0-9]+ holds\.")
_fresh = count(1)
_clock = SystemClock()


def write_article(subject: str) -> str:
    """About 2 KB of text, different each time, with claims that depend on its subject alone."""
    claims = " ".join(f"Claim {letter} of {subject} holds." for letter in "abcdefghij"[:CLAIMS])
    return f"Article {next(_fresh)}. {claims} {FILLER}"


def fresh_article() -> str:
    """An article whose claims were never seen."""
    return write_article(f"fresh{next(_fresh)}")


async def answer_step(brief: Brief[Any, Any], model: ModelName) -> Finished[Any]:
    """The answer to a step, with the record that a provider would give."""
    research: tuple[Research, ...] = ()
    match brief.step:
        case "CLAIM_AUDIT/extract":
            answer = _extract(brief.words)
        case "CLAIM_AUDIT/analyse":
            research = (await _fetch(brief),)
            answer = _analyse(brief.words)
        case _:
            answer = _ASSESSMENT
    body = json.dumps(answer)
    transcript = Transcript(
        step=brief.step,
        protocol="demo",
        provider=model.provider,
        model=model.model,
        instructions=brief.instructions,
        input=describe_parts(brief.parts),
        calls=(Call(request={}, body=body),),
        research=research,
    )
    return Finished(brief.read(body, research), Usage(cost_micro_usd=0), model, transcript.model_dump_json().encode())


def _extract(words: str) -> Mapping[str, JsonValue]:
    found = list(dict.fromkeys(_CLAIM.findall(words)))
    return {
        "language": "en",
        "thesis": "Claims hold.",
        "claims": [{"text": each, "is_central": True, "volatility": "TIMELESS"} for each in found],
    }


async def _fetch(brief: Brief[Any, Any]) -> Research:
    """Open the page that the analysis quotes."""
    arguments, began = json.dumps({"url": _SOURCE.url}), _clock.now()
    output = await brief.research[FETCH_URL.name](arguments)
    return Research(
        call_id="1",
        name=FETCH_URL.name,
        arguments=arguments,
        output=output,
        started_at=began,
        completed_at=_clock.now(),
    )


def _analyse(words: str) -> Mapping[str, JsonValue]:
    evidence: JsonValue = {
        "supports": False,
        "url": _SOURCE.url,
        "title": _SOURCE.title,
        "quotes": [" ".join(_SOURCE.snippet.split()[:QUOTE_WORDS])],
        "relevance": 0.9,
    }
    return {
        "recommended": 1,
        "scenarios": [
            {
                "description": "As the sentence stands.",
                "probability": 0.03,
                "confidence": 0.9,
                "explanation": f"The page says otherwise: {_CLAIM.findall(words)}",
                "evidence": [evidence],
            }
        ],
    }


_SOURCE: Final = catalogue().entries[0].sources[0]
_ASSESSMENT: Final[Mapping[str, JsonValue]] = {
    "summary": "The article makes claims.",
    "thesis_follows": True,
    "missing_context": False,
    "reasoning_quality": dict.fromkeys(("evidence_strength", "logical_coherence", "transparency", "nuance"), "medium"),
}
