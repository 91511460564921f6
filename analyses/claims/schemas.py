"""The strict JSON Schemas of the answers in the three steps of an audit; part of their prompts' bundles."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from analyses.claims.scoring import Fallacy, Impact, Severity
from analyses.submission import strict_object


def _text(description: str, *, optional: bool = False) -> JsonValue:
    return {"type": ["string", "null"] if optional else "string", "description": description}


def _choice(*words: str) -> JsonValue:
    return {"type": "string", "enum": list(words)}


def _number(description: str, *, optional: bool = False) -> JsonValue:
    return {"type": ["number", "null"] if optional else "number", "description": description}


def _list(items: JsonValue) -> JsonValue:
    return {"type": "array", "items": items}


_STRING: Final[JsonValue] = {"type": "string"}
_TRUTH: Final[JsonValue] = {"type": "boolean"}

EXTRACT_SCHEMA: Final = strict_object(
    {
        "language": _text("BCP 47 primary subtag of the article's language, e.g. en"),
        "thesis": _text("What the article wants its readers to believe, one sentence", optional=True),
        "claims": _list(
            strict_object(
                {
                    "text": _text("The claim, in the article's own words where they can stand alone"),
                    "is_central": _TRUTH,
                    "claim_type": _text("causal, statistical, quotation, event, definition, prediction, comparison"),
                    "domain": _text("e.g. public_health, politics"),
                    "evaluability": _choice("evaluable", "partially_evaluable", "not_evaluable"),
                    "risk_tier": _choice("A", "B", "C"),
                    "volatility": _choice("TIMELESS", "DATED", "SLOW", "FAST"),
                    "time_anchor": _text("ISO day, week, month, quarter or year it speaks of", optional=True),
                    "queries": _list(_STRING),
                }
            )
        ),
    }
)
ANALYSE_SCHEMA: Final = strict_object(
    {
        "scenarios": _list(
            strict_object(
                {
                    "description": _text("Under which reading the claim is judged"),
                    "assumptions": _list(_STRING),
                    "probability": _number("That the claim holds in this scenario, 0 to 1", optional=True),
                    "confidence": _number("In that probability, 0 to 1"),
                    "explanation": _text("Two to five sentences"),
                    "uncertainty_factors": _list(_STRING),
                    "evidence": _list(
                        strict_object(
                            {
                                "supports": _TRUTH,
                                "url": _text("Address of the page, as you opened it"),
                                "title": _text("Title of the page"),
                                "quotes": _list(_STRING),
                                "summary": _text("What the page says, in your words", optional=True),
                                "relevance": _number("0 to 1"),
                                "published_at": _text("ISO date of the page", optional=True),
                            }
                        )
                    ),
                }
            )
        ),
        "recommended": {"type": "integer", "description": "Number of the scenario most readers mean, from 1"},
    }
)
ASSESS_SCHEMA: Final = strict_object(
    {
        "summary": _text("Three to six sentences for readers"),
        "confidence": _number("In this assessment, 0 to 1"),
        "credibility_score": _number("0 to 1", optional=True),
        "thesis_follows": _TRUTH,
        "missing_context": _TRUTH,
        "contextual_factors": _list(
            strict_object(
                {"factor": _STRING, "impact": _choice(*Impact), "description": _STRING},
            )
        ),
        "fallacies": _list(
            strict_object(
                {"type": _choice(*Fallacy), "location": _STRING, "why": _STRING, "severity": _choice(*Severity)}
            )
        ),
        "reasoning_quality": strict_object(
            {
                name: _choice("low", "medium", "high")
                for name in ("evidence_strength", "logical_coherence", "transparency", "nuance")
            }
        ),
        "disclaimers": _list(_STRING),
    }
)
