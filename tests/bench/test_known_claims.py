"""Claims with known answers, the auditor's handlers that judge them, and what is counted of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from kit.documents.readable import Readable
from kit.models.base import Model
from kit.models.demo import DemoModel
from kit.sources import Page, PageUnavailable
from tests.bench import bench_claims
from tests.bench.bench_cases import Options
from tests.bench.casereport import Pairs
from tests.bench.claimbook import SIZES, Claim, generate
from tests.bench.claimreport import compare, print_report, tally
from tests.bench.claimrun import NoPages, Result, run
from tests.bench.facts import facts_in, read_table
from tests.bench.generated import took_office, with_capital
from tests.bench.recordings import RecordedModel, RecordedPages, RecordingModel, RecordingPages
from tests.bench.report import Report
from tests.support.analysing import OFFICE, PAGES, PAPER, Reader, answer, item, scenario
from tests.support.factories import NOW
from tests.support.openai_server import HttpError, openai_server
from tests.support.providers import KEY, OPENAI, provider

TALL: Final = Claim("single", "tall", "The tower is 330 metres tall.", is_true=True, rows=("towers/this",))
SHORT: Final = replace(TALL, is_true=False)
BOTH: Final = (item(OFFICE), item(PAPER))


class Web:
    """The pages about the tower."""

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        found = PAGES.get(address)
        return PageUnavailable("http_404") if found is None else Page(address, None, NOW, found, "text/html")


@asynccontextmanager
async def witness(said: Any, *opens: str) -> AsyncIterator[Model]:
    """A model that opens these pages and then says this."""
    reader = Reader(opens=opens, said=said)
    async with openai_server(reader):
        model = OPENAI.make(reader.url, key=KEY, silence_s=5)
        try:
            yield model
        finally:
            await model.aclose()


async def judge(claim: Claim, said: Any, *opens: str) -> Result:
    """What becomes of the claim when a model says this about it."""
    async with witness(said, *opens) as model:
        return await run(claim, model, Web())


@pytest.mark.requirement("TR-55")
def test_claims_follow_from_facts_and_their_pairs_from_one_fact() -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    claims = list(generate(Fraction(1, 3)))
    assert list(generate(Fraction(1, 6)))[:100] == claims[:100]
    by_id = {claim.id: claim for claim in claims}
    assert len(by_id) == len(claims)
    assert Counter(claim.kind for claim in claims) == {"single": 200, "neutral": 200, "mirrored": 200, "language": 100}
    assert len({claim.language for claim in claims if claim.kind == "language"}) == 10
    tables = ("elements", "capitals", "events", "leaders", "planets", "constants")
    known = {row["row"] for table in tables for row in read_table(table)}
    for claim in claims:
        assert set(claim.rows) <= known
        assert claim.text[0].upper() == claim.text[0]
        if claim.other is not None:
            other = by_id[claim.other]
            assert (other.kind, other.is_true, other.language) == (claim.kind, claim.is_true, claim.language)
            assert other.text != claim.text
            assert (other.rows == claim.rows) == (claim.kind == "neutral")
    for kind in SIZES:
        of_kind = [claim.is_true for claim in claims if claim.kind == kind]
        assert 0.35 < sum(of_kind) / len(of_kind) < 0.65


@pytest.mark.requirement("TR-55")
def test_a_claim_is_true_exactly_if_a_table_says_so() -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    claims = list(generate(Fraction(1, 3)))
    right = {took_office(side, 0) for side in read_table("leaders")}
    for language in {claim.language for claim in claims}:
        facts = chain.from_iterable(facts_in(language).values())
        right |= {with_capital(line.replace("{value}", fact.value)) for fact in facts for line in fact.templates}
    assert [claim for claim in claims if claim.is_true is not (claim.text in right)] == []


@pytest.mark.requirement("TR-55")
async def test_a_verdict_has_a_side_where_quotes_of_two_pages_carry_it() -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    right = await judge(TALL, answer(scenario(*BOTH)), OFFICE, PAPER)
    assert (right.says, right.is_right, right.is_wrong, right.on_page, right.not_on_page) == (True, True, False, 2, 0)
    wrong = await judge(SHORT, answer(scenario(*BOTH)), OFFICE, PAPER)
    assert (wrong.says, wrong.is_right, wrong.is_wrong) == (True, False, True)
    denied = answer(scenario(*(item(page, supports=False) for page in (OFFICE, PAPER)), probability=0.05))
    assert (await judge(SHORT, denied, OFFICE, PAPER)).is_right


@pytest.mark.requirement("TR-55")
async def test_what_stands_on_no_page_carries_nothing_and_is_counted() -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    invented = answer(scenario(item(OFFICE, "no one has ever measured this tower"), item(PAPER)))
    found = await judge(TALL, invented, OFFICE)
    assert (found.says, found.is_right, found.is_wrong) == (None, False, False)
    assert (found.on_page, found.not_on_page) == (0, 2), "one quote is not there, one page was never opened"


async def test_a_provider_that_fails_has_said_nothing() -> None:
    async with provider(OPENAI, HttpError(400)) as (model, _):
        found = await run(TALL, model, NoPages())
    assert found.failure is not None
    assert tally([found]).failed == 1


def of_pair(kind: str, says: Iterable[bool | None]) -> list[Result]:
    """Results of the two claims of a pair."""
    one, other = (claim for claim in generate(Fraction(1, 300)) if claim.kind == kind)
    return [Result(claim, each) for claim, each in zip((one, other), says, strict=True)]


@pytest.mark.requirement("TR-55")
@pytest.mark.parametrize("kind", ["neutral", "mirrored"])
def test_a_pair_differs_if_its_verdicts_are_not_on_one_side(kind: Any) -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    assert compare(of_pair(kind, (True, True)), kind) == compare(of_pair(kind, (None, None)), kind) == Pairs(1, 0, 0)
    assert compare(of_pair(kind, (True, False)), kind) == compare(of_pair(kind, (True, None)), kind) == Pairs(1, 0, 1)
    answered, silent = of_pair(kind, (True, False))
    assert compare([answered, replace(silent, failure="no answer")], kind) == Pairs(1, 1, 0)


@pytest.mark.requirement("TR-55")
def test_bounds_are_of_verdicts_on_a_side_and_of_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """TR-55: Audits are measured by claims with known answers: sides, pairs, and quotes on their page."""
    counted = tally([Result(TALL, True, 3, 1)] * 299 + [Result(TALL)] * 10 + [Result(TALL, failure="no answer")])
    assert (counted.claims, counted.right, counted.wrong, counted.silent, counted.failed) == (310, 299, 0, 10, 1)
    assert counted.most_wrong < 0.01 < tally([Result(TALL, True)] * 298).most_wrong
    assert (counted.on_page, counted.sources) == (897, 1_196)
    assert 0.72 < counted.least_on_page < 0.75
    report = Report()
    print_report([Result(SHORT, True), *of_pair("mirrored", (True, False))], report)
    assert (report.below, report.failures) == (2, 0), "a verdict on the wrong side, and a pair that differs"
    print_report([Result(TALL, failure="no answer")], report)
    print_report([], report)
    assert report.failures == 2
    assert "wrong: tall, The tower is 330 metres tall." in capsys.readouterr().out


def test_the_demonstration_is_on_no_side() -> None:
    claims = list(generate(Fraction(1, 300)))
    results = asyncio.run(bench_claims.run_all(DemoModel(), claims, Options()))
    assert {(result.says, result.failure) for result in results} == {(None, None)}


def lose_pages(folder: Path) -> None:
    """Remove the recorded pages, and nothing else."""
    for file in folder.glob("*.json"):
        if b"final_url" in file.read_bytes():
            file.unlink()


async def test_what_was_recorded_is_judged_again_and_nothing_else(tmp_path: Path) -> None:
    async with witness(answer(scenario(*BOTH)), OFFICE, PAPER) as model:
        seen = await run(TALL, RecordingModel(model, tmp_path), RecordingPages(Web(), tmp_path))
    again = await run(TALL, RecordedModel(tmp_path), RecordedPages(tmp_path))
    assert replace(again, cost_micro_usd=seen.cost_micro_usd) == seen
    other = replace(TALL, text="The tower is 300 metres tall.")
    (unknown,) = await bench_claims.run_all(RecordedModel(tmp_path), [other], Options(recordings=tmp_path))
    assert unknown.failure is not None
    lose_pages(tmp_path)
    (lost,) = await bench_claims.run_all(RecordedModel(tmp_path), [TALL], Options(recordings=tmp_path))
    assert lost.failure is not None
    assert "There is no recording of the page" in lost.failure
