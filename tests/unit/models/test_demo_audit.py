"""The demonstration in the steps of an audit: it says what it is, and knows its catalogue only."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from analyses.claim_audit import AnalysedClaim, Article, ArticleToAssess, ClaimAudit, ClaimToAnalyse
from analyses.claims.analysis import ReadPage, analyse_claim
from analyses.claims.answers import AnalyseAnswer
from analyses.claims.families import SourcePage
from analyses.claims.labels import Label
from analyses.claims.rollup import Rollup
from analyses.kinds import Step
from analyses.snippets import page_text
from contracts.transcript import Transcript
from kit.models.base import Brief, Finished, ModelError
from kit.models.demo import DemoModel
from kit.models.demo_audit import LABEL
from kit.models.demo_catalogue import catalogue
from kit.models.stages import STEPS, DemoStages
from kit.sources import Page
from services.auditor.evidence import DemoPages
from tests.support.factories import NOW
from tests.support.fakes import StillClock

AUDIT = ClaimAudit()
TEXT = "The heart beats often. Humans use only 10 percent of their brains. The brain is mostly water."


async def ask(step: Step[Any, Any], material: Any) -> Finished[Any]:
    """What the demonstration answers to a step."""
    pages = DemoPages(catalogue(), StillClock(NOW))

    async def fetch(arguments: str) -> str:
        page = await pages.get(json.loads(arguments)["url"])
        assert isinstance(page, Page)
        return json.dumps({"ok": True, "finalUrl": page.final_url, "contentText": page.text.text})

    parts = tuple(part for part in step.brief(material) if isinstance(part, str))
    brief: Brief[Any, Any] = Brief(
        step.name, step.prompt.text, parts, step.read, research={"fetch_url": fetch}, schema=step.schema
    )
    (end,) = [each async for each in DemoModel().converse(brief)]
    assert isinstance(end, Finished)
    return end


async def test_it_finds_the_sentences_of_its_catalogue_and_no_others() -> None:
    end = await ask(AUDIT.extract, Article(TEXT))
    (claim,) = end.answer.claims
    assert claim.text == "Humans use only 10 percent of their brains."
    assert end.model.provider == "demo"
    assert end.usage.cost_micro_usd == 0


async def analysed(text: str) -> tuple[AnalyseAnswer, Any, Transcript]:
    """The analysis of a claim over the demonstration's own pages."""
    end = await ask(AUDIT.analyse, ClaimToAnalyse(text, "en", date(2026, 12, 1), 2, 6))
    pages: dict[str, ReadPage | None] = {}
    for scenario in end.answer.scenarios:
        for item in scenario.evidence:
            page = await DemoPages(catalogue(), StillClock(NOW)).get(item.url)
            assert isinstance(page, Page)
            read = page.text
            pages[item.url] = ReadPage(page_text(read.title or "", read.text), SourcePage(item.url, None, read.text))
    found = analyse_claim(end.answer, pages, max_scenarios=2, max_evidence=6)
    return end.answer, found, Transcript.model_validate_json(end.transcript)


async def test_its_quotes_stand_on_its_pages_which_it_opened() -> None:
    answer, found, transcript = await analysed("Humans use only 10 percent of their brains.")
    assert (found.rollup, found.dropped) == (Rollup.REFUTED, {})
    assert found.scenarios[0].verdict.label is Label.HIGHLY_UNLIKELY
    assert answer.scenarios[0].explanation.startswith(LABEL)
    cited = [each.url for each in answer.scenarios[0].evidence]
    assert [json.loads(each.arguments)["url"] for each in transcript.research] == cited


async def test_what_sources_dispute_is_unclear() -> None:
    (disputed,) = [entry for entry in catalogue().entries if entry.disputed][:1]
    _, found, _ = await analysed(next(iter(disputed.phrasings())))
    assert found.rollup is Rollup.INCONCLUSIVE


async def test_it_says_nothing_of_other_claims() -> None:
    _, found, transcript = await analysed("The heart beats often.")
    assert found.scenarios[0].verdict.label is Label.UNSUBSTANTIATED
    assert transcript.research == ()


async def test_the_assessment_is_labelled() -> None:
    claims = (AnalysedClaim("Humans use only 10 percent of their brains.", True, None),)
    answer = (await ask(AUDIT.assess, ArticleToAssess(Article(TEXT), None, claims))).answer
    assert answer.summary == f"{LABEL} The catalogue of well-known errors has one sentence of this article."
    assert answer.disclaimers == (LABEL,)


async def test_every_step_of_an_audit_is_asked_of_it() -> None:
    model = DemoModel()
    stages = DemoStages(model)
    for stage, step in STEPS.items():
        chosen = stages.resolve(stage, None)
        assert (chosen.step, chosen.provider, chosen.model) == (step, "demo", "demo-catalogue")
        assert stages.open(chosen) is model


async def test_a_step_that_it_does_not_know_fails() -> None:
    brief: Brief[Any, Any] = Brief("POST_VERDICT/judge", "", ("text",), lambda answer, _: answer)
    with pytest.raises(ModelError, match="knows nothing of the step"):
        await anext(DemoModel().converse(brief))
