"""Audits of whole articles: claims are extracted, each is analysed with evidence, and the article is assessed.

A model proposes; `analyses.claims` decides keys, labels, scores and sources. The results are never corrections, so the
kind is not one of `FLAGGING`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Final

from pydantic import JsonValue

from analyses.blocks import wrap_block
from analyses.claim_audit_prompts import (
    ANALYSE,
    ANALYSE_CLOSING,
    ANALYSE_VERSION,
    ASSESS,
    ASSESS_VERSION,
    EXTRACT,
    EXTRACT_VERSION,
    HANDLING,
)
from analyses.claims.answers import AnalyseAnswer, AssessAnswer, ExtractAnswer, read_answer
from analyses.claims.schemas import ANALYSE_SCHEMA, ASSESS_SCHEMA, EXTRACT_SCHEMA
from analyses.kinds import InvalidAnswer, Tool, describe, hash_bundle, make_prompt
from analyses.placing import Part
from analyses.research import FETCH_URL
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.parts import Prompt

ANALYSE_TURNS: Final = 12
"""Requests with tools for a claim at standard depth; twice as many at depth `deep`."""
TOOLS: Final[tuple[Tool, ...]] = (FETCH_URL,)


@dataclass(frozen=True, slots=True)
class Article:
    """An article as a model sees it; metadata that its page lacks is None."""

    text: str
    title: str | None = None
    url: str | None = None
    author: str | None = None
    publisher: str | None = None
    published_on: date | None = None


@dataclass(frozen=True, slots=True)
class ClaimToAnalyse:
    """A claim and the limits of its analysis. `reference_day` is the day that "today" means in the claim."""

    text: str
    language: str
    reference_day: date
    max_scenarios: int
    max_evidence: int


@dataclass(frozen=True, slots=True)
class AnalysedClaim:
    """A claim as stage 3 sees it. Shapes: `analysis` is JSON as in the result, None without an analysis; `context` is
    the article's words around the claim, None unless the options ask for them."""

    text: str
    is_central: bool
    analysis: JsonValue
    context: str | None = None


@dataclass(frozen=True, slots=True)
class ArticleToAssess:
    """An article with the analyses of its claims."""

    article: Article
    thesis: str | None
    claims: tuple[AnalysedClaim, ...]


class ExtractStep:
    """Stage 1: extract the claims of an article."""

    name: StepName = "CLAIM_AUDIT/extract"
    prompt = make_prompt(EXTRACT_VERSION, EXTRACT)
    turns = Turns(with_tools=1)
    schema: Mapping[str, JsonValue] = EXTRACT_SCHEMA

    def tools(self, material: Article) -> tuple[Tool, ...]:
        """No tools: the article is enough."""
        return ()

    def brief(self, material: Article) -> tuple[Part, ...]:
        """Handling note, metadata and the article."""
        return _join(_show_article(material))

    def read(self, answer: str, lookups: Sequence[Research]) -> ExtractAnswer:
        """Parse the claims. Raises: InvalidAnswer."""
        return read_answer(answer, ExtractAnswer)


@dataclass(frozen=True, slots=True)
class AnalyseStep:
    """Stage 2: analyse under which scenarios a claim holds, with evidence."""

    turns: Turns
    name: ClassVar[StepName] = "CLAIM_AUDIT/analyse"
    prompt: ClassVar[Prompt] = make_prompt(ANALYSE_VERSION, ANALYSE)
    schema: ClassVar[Mapping[str, JsonValue]] = ANALYSE_SCHEMA

    def tools(self, material: ClaimToAnalyse) -> tuple[Tool, ...]:
        """The page reader; the provider adds a search."""
        return TOOLS

    def brief(self, material: ClaimToAnalyse) -> tuple[Part, ...]:
        """Handling note, the limits, and the claim."""
        asked = _json(
            {
                "language": material.language,
                "today": material.reference_day.isoformat(),
                "scenariosAtMost": material.max_scenarios,
                "evidenceItemsPerScenarioAtMost": material.max_evidence,
            }
        )
        return _join([("ASKED", asked), ("CLAIM", material.text)])

    def read(self, answer: str, lookups: Sequence[Research]) -> AnalyseAnswer:
        """Parse the scenarios and the number of the recommended one. Raises: InvalidAnswer."""
        found = read_answer(answer, AnalyseAnswer)
        if not 1 <= found.recommended <= len(found.scenarios):
            raise InvalidAnswer("The recommended scenario does not exist.")
        return found


class AssessStep:
    """Stage 3: assess the article as a whole."""

    name: StepName = "CLAIM_AUDIT/assess"
    prompt = make_prompt(ASSESS_VERSION, ASSESS)
    turns = Turns(with_tools=1)
    schema: Mapping[str, JsonValue] = ASSESS_SCHEMA

    def tools(self, material: ArticleToAssess) -> tuple[Tool, ...]:
        """No tools: nothing more is looked up."""
        return ()

    def brief(self, material: ArticleToAssess) -> tuple[Part, ...]:
        """Handling note, metadata, the article, the analyses and, if asked for, the claims' context."""
        claims = [
            {"claim": number, "text": each.text, "isCentral": each.is_central, "analysis": each.analysis}
            for number, each in enumerate(material.claims, 1)
        ]
        around = [
            {"claim": number, "words": each.context}
            for number, each in enumerate(material.claims, 1)
            if each.context is not None
        ]
        blocks = [
            *_show_article(material.article),
            ("ANALYSES", _json({"thesis": material.thesis, "claims": claims})),
        ]
        return _join([*blocks, ("CONTEXT", _json(around))] if around else blocks)

    def read(self, answer: str, lookups: Sequence[Research]) -> AssessAnswer:
        """Parse the assessment. Raises: InvalidAnswer."""
        return read_answer(answer, AssessAnswer)


class ClaimAudit:
    """The kind of article audits. Source: requirements FH."""

    name = "CLAIM_AUDIT"
    rules = "claim-audit-rules-1"
    extract: ClassVar = ExtractStep()
    analyse: ClassVar = AnalyseStep(Turns(ANALYSE_TURNS, ANALYSE_CLOSING))
    analyse_deep: ClassVar = AnalyseStep(Turns(2 * ANALYSE_TURNS, ANALYSE_CLOSING))
    """The same step with twice the turns."""
    assess: ClassVar = AssessStep()
    steps = (extract, analyse, assess)

    @property
    def bundles(self) -> Mapping[str, str]:
        """The hash of all fixed texts (instructions, handling note, tools, closing, schema), by prompt version."""
        return {
            EXTRACT_VERSION: hash_bundle(EXTRACT, HANDLING, json.dumps(EXTRACT_SCHEMA)),
            ANALYSE_VERSION: hash_bundle(
                ANALYSE, HANDLING, *map(describe, TOOLS), ANALYSE_CLOSING, json.dumps(ANALYSE_SCHEMA)
            ),
            ASSESS_VERSION: hash_bundle(ASSESS, HANDLING, json.dumps(ASSESS_SCHEMA)),
        }


def _show_article(article: Article) -> list[tuple[str, str]]:
    metadata = {
        "title": article.title,
        "url": article.url,
        "author": article.author,
        "publisher": article.publisher,
        "publishedOn": article.published_on.isoformat() if article.published_on else None,
    }
    known = {name: value for name, value in metadata.items() if value is not None}
    return [("METADATA", _json(known)), ("ARTICLE", article.text)]


def _join(blocks: Sequence[tuple[str, str]]) -> tuple[Part, ...]:
    """The handling note, then each text in markers that occur in none of the texts."""
    texts = [text for _, text in blocks]
    return ("\n\n".join((HANDLING, *(wrap_block(tag, text, *texts) for tag, text in blocks))),)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
