"""A real model, small or one's own, over the real wire: what it answers, and how well it judges.

`make model` installs a small one and runs this. With OPENERRATA_TEST_MODEL_URL another is asked, behind any server that
speaks chat completions:

    llama-server -m model.gguf --port 8080
    OPENERRATA_TEST_MODEL_URL=http://127.0.0.1:8080/v1 python -m pytest -s -m needs_model tests/bench

What it prints sets no threshold and admits no variant: small models show that the wire works, and a floor.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final, Literal

import pytest

from analyses import flagging_kind
from analyses.flagging import Candidate, Review
from analyses.research import FETCH_URL, parse_fetch_url
from analyses.submission import SUBMIT_CORRECTION
from contracts.steps import Turns
from contracts.v1.parts import ClaimPayload, Source
from kit.model_settings import ChatSettings, OpenAISettings
from kit.models.base import Brief, Limits, ModelError, Sampling, ask
from kit.models.choice import choose_opinion
from kit.models.failover import KeyedModel
from services.validator.opinion import SecondOpinion
from tests.bench.calibrate import Question, list_questions
from tests.bench.casebook import Kind, Post
from tests.bench.casereport import compare_mirrors
from tests.bench.caserun import Result, World, run
from tests.bench.facts import ENGLISH
from tests.bench.generated import generate
from tests.bench.weak_proposer import POLICY
from tests.support.fakes import MemoryTexts
from tests.support.local_model import NAME, find_weights, serving
from tests.unit.validator.test_opinion import Opinionated

SERVER: Final = os.environ.get("OPENERRATA_TEST_MODEL_URL")
EACH: Final = 40
Said = Literal["shown wrong", "not shown", "unreadable"]
Confusion = Mapping[tuple[bool, Said], int]


@pytest.fixture(scope="module")
def model() -> Iterator[KeyedModel]:
    """The model at the server that is named, or else the small one."""
    weights = find_weights()
    if SERVER is not None:
        name = os.environ.get("OPENERRATA_TEST_MODEL", "local")
        yield choose_opinion(f"chat_completions:{name}", OpenAISettings(), ChatSettings(base_url=SERVER))
    elif weights is None:
        pytest.skip("`make model` installs a small model; OPENERRATA_TEST_MODEL_URL names a server with another")
    else:
        with serving(weights) as url:
            yield choose_opinion(f"chat_completions:{NAME}", OpenAISettings(), ChatSettings(base_url=url))


async def ask_all(opinion: SecondOpinion, questions: Iterable[Question]) -> Confusion:
    """How often each answer was given, by whether the quotations show the sentence to be wrong."""
    counted: Counter[tuple[bool, Said]] = Counter()
    for number, each in enumerate(questions):
        said = await opinion.ask(each.sentence, each.quotations, f"local/{number}", resume=False)
        counted[each.is_right, _name(said.probability)] += 1
    return counted


def _name(probability: float | None) -> Said:
    if probability is None:
        return "unreadable"
    return "shown wrong" if probability >= 0.5 else "not shown"


def write_matrix(confusion: Confusion) -> str:
    """A row for each truth, a column for each answer."""
    answers: tuple[Said, ...] = ("shown wrong", "not shown", "unreadable")
    rows = [f"{'':<24}" + "".join(f"{each:>14}" for each in answers)]
    for is_right, name in ((True, "the sentence is wrong"), (False, "nothing shows it")):
        rows.append(f"{name:<24}" + "".join(f"{confusion.get((is_right, each), 0):>14}" for each in answers))
    return "\n".join(rows)


def select_questions() -> list[Question]:
    """The same few, half of them with a right correction."""
    return [each for each in list_questions(EACH) if each.group == ENGLISH]


async def review_all(model: KeyedModel, questions: Iterable[Question]) -> Confusion:
    """The same of the reviewer, whose answer is JSON of a given shape."""
    step = flagging_kind("FACT_CHECK").review
    counted: Counter[tuple[bool, Said]] = Counter()
    for each in questions:
        sources = tuple(Source(url="https://example.org/", title="A source", snippet=said) for said in each.quotations)
        claim = ClaimPayload(
            text=each.sentence, context=each.sentence, summary=each.quotations[0], reasoning="", sources=sources
        )
        brief: Brief[None, Review] = Brief(
            step=step.name,
            instructions=step.prompt.text,
            parts=tuple(part for part in step.brief(Candidate(claim, each.sentence)) if isinstance(part, str)),
            read=step.read,
            turns=step.turns,
            schema=step.schema,
        )
        try:
            approved = (await ask(model, brief)).answer.approved
        except ModelError:  # it was cut short
            counted[each.is_right, "unreadable"] += 1
        else:
            counted[each.is_right, "shown wrong" if approved else "not shown"] += 1
    return counted


async def test_answers_are_counted_by_what_is_so() -> None:
    questions = select_questions()
    opinionated = Opinionated(*(None if number == 0 else 0.9 for number, _ in enumerate(questions)))
    confusion = await ask_all(SecondOpinion(opinionated, MemoryTexts()), questions)
    assert confusion == {(False, "unreadable"): 1, (False, "shown wrong"): 19, (True, "shown wrong"): 20}
    head, wrong, nothing = write_matrix(confusion).splitlines()
    assert head.split() == ["shown", "wrong", "not", "shown", "unreadable"]
    assert (wrong.split()[-3:], nothing.split()[-3:]) == (["20", "0", "0"], ["19", "0", "1"])


@pytest.mark.needs_model
async def test_a_real_model_calls_a_function_and_answers_from_what_it_got(
    model: KeyedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    async def fetch(arguments: str) -> str:
        asked.append(parse_fetch_url(arguments))
        return json.dumps({"ok": True, "status": 200, "contentText": "The number is 7."})

    brief: Brief[None, str] = Brief(
        step="FACT_CHECK/look",
        instructions="You have one function, fetch_url. First call it with the address in the message.",
        parts=("Call fetch_url with https://example.org/number, then say which number the page gives.",),
        read=lambda answer, lookups: answer,
        tools=(FETCH_URL,),
        research={FETCH_URL.name: fetch},
        turns=Turns(with_tools=3),
        sampling=Sampling(200, 0.0),
    )
    finished = await ask(model, brief)
    with capsys.disabled():
        print(f"\n{model.name.model} called the function {len(asked)} times and said: {finished.answer}")
    assert set(asked) == {"https://example.org/number"}
    assert "7" in finished.answer
    assert finished.usage.input_tokens


@pytest.mark.needs_model
async def test_a_real_model_says_how_probable_its_words_are(model: KeyedModel) -> None:
    seen: list[Mapping[str, float]] = []

    def weigh(alternatives: Mapping[str, float]) -> str:
        seen.append(alternatives)
        return "weighed"

    brief: Brief[None, str] = Brief(
        step="FACT_CHECK/opinion",
        instructions="Answer with one word.",
        parts=("Is the sky green? YES or NO.",),
        read=lambda answer, lookups: answer,
        weigh=weigh,
        sampling=Sampling(10, 0.0, alternatives=10),
    )
    assert (await ask(model, brief)).answer == "weighed"
    (alternatives,) = seen
    assert len(alternatives) == 10
    assert 0 < sum(alternatives.values()) <= 1.001


@pytest.mark.needs_model
async def test_a_real_model_judges_and_what_it_judges_is_counted(
    model: KeyedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = select_questions()[::8]
    opinions = await ask_all(SecondOpinion(model, MemoryTexts()), questions)
    reviews = await review_all(model, questions)
    with capsys.disabled():
        print(f"\n{model.name.model}, second opinion\n{write_matrix(opinions)}\nreview\n{write_matrix(reviews)}")
    assert sum(opinions.values()) == sum(reviews.values()) == len(questions)


def few_posts() -> list[Post]:
    """One post of each kind in which a flag is false, and one mirrored pair in which something is wrong."""
    alone: tuple[Kind, ...] = ("planted", "corrected", "injected_post", "injected_page")
    every = list(generate(Fraction(1, 60)))
    one = next(post for post in every if post.mirror_of is not None and post.wrong)
    return [
        *(post for post in every if post.id in (one.id, one.mirror_of)),
        *(next(post for post in every if post.kind == kind) for kind in alone),
    ]


def write_outcomes(results: Iterable[Result]) -> str:
    """What became of each post, and of what was proposed about it, by whether it is wrong."""
    columns = ("proposed", "refused", "released", "failed")
    rows = [f"{'':<24}" + "".join(f"{each:>10}" for each in columns)]
    counted: dict[str, Counter[str]] = {}
    for result in results:
        row = counted.setdefault(f"{result.post.kind}, {'wrong' if result.post.wrong else 'right'}", Counter())
        refused, released = len(result.refused), len(result.claims)
        row.update(proposed=refused + released, refused=refused, released=released, failed=result.failure is not None)
    rows += [f"{name:<24}" + "".join(f"{row[each]:>10}" for each in columns) for name, row in counted.items()]
    return "\n".join(rows)


@pytest.mark.needs_model
@pytest.mark.requirement("TR-50")
async def test_nothing_that_a_real_model_proposes_wrongly_is_released(
    model: KeyedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """TR-50: Mirrored posts have the same outcome; planted, injected and corrected ones get no false flag.

    Whatever the model says: the post's own page is the only one that is found, and one page is no two sources.
    """
    limits = Limits(rounds=4, decisions={SUBMIT_CORRECTION.name: 2})
    results = [await run(post, model, World(), limits=limits, policy=POLICY) for post in few_posts()]
    with capsys.disabled():
        print(f"\n{model.name.model}, six posts\n{write_outcomes(results)}")
    assert [result.false_flags for result in results if result.false_flags] == []
    mirrors = compare_mirrors(results)
    assert (mirrors.pairs, mirrors.differing) == (1, 0)
    if SERVER is None:
        assert any(result.refused and result.failure is None for result in results), "the small one did propose wrongly"
