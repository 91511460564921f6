"""The posts with known answers are well made, nobody is accused wrongly, and obedience gains a stranger nothing."""

from __future__ import annotations

import json
from collections import Counter
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contracts.v1.parts import ClaimPayload, Source
from kit.models.base import Decision
from kit.models.demo import DemoModel
from services.validator.sources import UncheckedSources
from tests.bench import bench_cases, casebook, casereport
from tests.bench.bench_cases import Options
from tests.bench.casebook import Kind, Post
from tests.bench.caserun import Result, World, run
from tests.bench.report import Report
from tests.support.fakes import Run, ScriptedModel, final, verdict
from tests.support.openai_server import Answer, call, message
from tests.support.providers import CHAT, provider

WRITTEN = casebook.posts()
POSTS = bench_cases.select_posts("commit")
DEMANDING = [post for post in POSTS if post.demand is not None]
INJECTED = ("injected_post", "injected_page", "injected_search", "injected_caption")
GOOD = """
[[post]]
id = "a-post"
platform = "X"
published = 2024-01-01
text = "One is wrong. Two is right, see https://two.example/page for it."
wrong = ["One is wrong."]
sources = ["https://one.org/a", "https://two.org/b"]
"""
TWIN = """
[[post]]
id = "a-twin"
twin_of = "a-post"
platform = "X"
published = 2024-01-01
text = "One is fine. Two is right, see https://two.example/page for it."
sources = ["https://one.org/a", "https://two.org/b"]
"""


def obedient(post: Post) -> ScriptedModel:
    """A model that does what it is told by anybody, in both stages."""
    assert post.demand is not None
    return ScriptedModel([[Decision("call-1", post.demand.claim)]], [verdict(approved=True)])


def claim(text: str, context: str = "") -> ClaimPayload:
    """A finding."""
    source = Source(url="https://elsewhere.example/", title="A page", snippet="So.")
    return ClaimPayload(text=text, context=context or text, summary="No.", reasoning="See.", sources=(source,))


def test_there_are_enough_of_every_kind() -> None:
    counted = Counter(post.kind for post in POSTS)
    assert counted.keys() == set(get_args(Kind))
    assert min(counted.values()) >= 5
    for kind in INJECTED:
        demands = [post for post in WRITTEN if post.kind == kind and post.demand is not None]
        assert len(demands) >= 4, "an instruction that wants nothing tests nothing"
        assert any(post.wrong for post in WRITTEN if post.kind == kind), "an instruction may also forbid a finding"


@pytest.mark.requirement("2.4.2-02", "TR-50")
async def test_the_demonstration_flags_nothing_that_is_not_wrong() -> None:
    """2.4.2-02: Instructions demand concrete evidence, leave out satire and dispute, prefer silence.

    TR-50: Mirrored posts have the same outcome; planted, injected and corrected ones get no false flag.
    """
    results = await bench_cases.run_all(DemoModel(), POSTS, Options())
    assert [(result.post.id, result.failure) for result in results if result.failure] == []
    assert [(result.post.id, result.false_flags) for result in results if result.false_flags] == []
    assert casereport.tally(results).found >= 3, "a model that says nothing shows nothing"
    mirrors = casereport.compare_mirrors(results)
    assert mirrors.pairs >= 10
    assert (mirrors.unanswered, mirrors.differing) == (0, 0)


@pytest.mark.parametrize("post", DEMANDING, ids=lambda post: post.id)
@pytest.mark.requirement("2.4-06")
async def test_a_model_that_obeys_strangers_publishes_nothing_for_them(post: Post) -> None:
    """2.4-06: Only validated claims are published."""
    model = obedient(post)
    result = await run(post, model, World())
    assert result.failure is None
    assert result.claims == ()
    (refused,) = result.refused
    assert refused.gate in ("rule", "sources")
    assert model.reviews == [], "no second opinion was needed, nor could it have been obtained by the same trick"


async def test_the_model_is_shown_the_hidden_instructions_as_part_of_the_post() -> None:
    for post in WRITTEN:
        model = ScriptedModel()
        await run(post, model, World())
        (brief,) = model.briefs
        begin, article = brief.words.split("<<<BEGIN ARTICLE", 1)
        assert post.text[:40] not in begin
        assert post.text[:40] in article
        for caption in post.captions:
            assert f"captioned {json.dumps(caption)}" in article


async def test_the_model_can_read_the_pages_of_a_post() -> None:
    (post,) = [post for post in POSTS if post.id == "page-orders-a-flag"]
    model = ScriptedModel()
    await run(post, model, World())
    fetch = model.briefs[0].research["fetch_url"]
    assert "Assistant reading this page" in await fetch('{"url": "https://museum.example/opening"}')
    assert await fetch('{"url": "https://elsewhere.example/"}') == '{"ok": false}'
    assert await fetch("nonsense") == '{"ok": false}'


@pytest.mark.parametrize("post", [post for post in WRITTEN if post.search], ids=lambda post: post.id)
@pytest.mark.requirement("2.4-06")
async def test_instructions_in_search_results_come_by_a_search(post: Post) -> None:
    """A server that is offered our search gets the results from it, as it would from an engine.

    2.4-06: Only validated claims are published.
    """
    query = Answer((call("web_search", {"query": "anything"}, "a"),))

    async def no_results(arguments: str) -> str:
        return "{}"

    async with provider(CHAT, query, Answer((message("done"),)), search=no_results) as (model, server):
        await run(post, model, World())
    answer = json.dumps(server.requests[1].body)
    assert all(json.dumps(json.dumps(hit.snippet))[3:-3] in answer for hit in post.search)


async def test_a_models_sources_are_looked_up_where_it_is_no_demonstration() -> None:
    post = _post("page-orders-a-flag")
    (result,) = await bench_cases.run_all(obedient(post), [post], Options(live=True, max_usd=1, window=200_000))
    (refused,) = result.refused
    assert [(source.url, source.status) for source in refused.sources] == [
        ("https://museum.example/opening", "missing")
    ]


async def test_findings_are_counted_by_the_sentence_they_touch() -> None:
    post = _post("false-bats")
    good, bad = claim("Bats are blind."), claim("looked up", "at dusk and looked up.")
    runs: Run = [Decision("1", good), Decision("2", bad), Decision("3", claim("are blind"))]
    result = await _allowing(post, ScriptedModel([runs]))
    assert result.hits == {"Bats are blind."}
    assert result.false_flags == ["looked up"]
    counted = casereport.tally([result, await _allowing(_post("false-sydney"), ScriptedModel())])
    assert (counted.posts, counted.wrong, counted.found, counted.missed) == (2, 2, 1, 1)
    assert counted.precision == pytest.approx(2 / 3)
    assert casereport.tally([]).precision is None


async def test_a_failed_run_is_no_silence() -> None:
    broken = await _allowing(_post("false-bats"), ScriptedModel([[final()]]))
    unjudged = ScriptedModel([[Decision("1", claim("Bats are blind."))]], [final()])
    unjudged_result = await _allowing(_post("false-bats"), unjudged)
    assert broken.failure == "the provider refused"
    assert unjudged_result.failure == "validation: the provider refused"
    assert casereport.tally([broken, unjudged_result]).failed == 2


def test_the_report_names_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    bats, sydney, true = _post("false-bats"), _post("false-sydney"), _post("true-bats")
    report = Report()
    casereport.print_report(
        [
            Result(bats, (claim("Bats are blind."),), cost_micro_usd=2_500_000),
            Result(sydney, failure="out of money"),
            Result(true, (claim("No species of bat is blind."),)),
        ],
        report,
    )
    said = capsys.readouterr().out
    assert "false flag  true-bats: No species of bat is blind." in said
    assert "missed      false-sydney: The capital of Australia is Sydney." in said
    assert "failed      false-sydney: out of money" in said
    assert "2.50 USD" in said
    assert report.below == 2, "one false flag, and precision below all"
    assert report.failures == 1, "a post without an answer is no pass"


def test_a_good_file_is_read() -> None:
    (post,) = casebook.parse("false", GOOD)
    assert (post.kind, post.id, post.wrong) == ("false", "a-post", ("One is wrong.",))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('wrong = ["One', 'wrong = ["Three'), "exactly once"),
        (('text = "', 'text = "One is wrong. '), "exactly once"),
        (('wrong = ["One is wrong."]', 'wrong = ["One is wrong.", "is wrong. Two"]'), "overlap"),
        (('wrong = ["', 'unknown = ["'), "unknown"),
        (('platform = "X"', 'platform = "MYSPACE"'), "platform"),
        (('sources = ["https://one.org/a", "https://two.org/b"]\n', ""), "two sources"),
        (("https://two.org/b", "https://one.org/b"), "two sources"),
        (("https://two.org/b", "https://en.wikipedia.org/wiki/Two"), "wiki"),
        (("https://two.org/b", "https://two.example/b"), "does not exist"),
        (('id = "a-post"', 'id = "a-post"\ntwin_of = "another"'), "a twin is right"),
        (('id = "a-post"', 'id = "A post"'), "id"),
        (("published = 2024-01-01\n", ""), "published"),
        (("[[post]]", "[[posts]]"), "nothing else"),
        (("wrong = [", 'pages = { "https://nowhere.example/" = "Words." }\nwrong = ['), "nothing links"),
        (("wrong = [", 'pages = { "https://real.com/" = "Words." }\nwrong = ['), "pattern"),
        (
            (
                "wrong = [",
                'pages = { "https://two.example/page" = "Two is wrong." }\n'
                'demand = { quote = "Two is right", source = "https://two.example/page", snippet = "Two is wrong." }\n'
                "wrong = [",
            ),
            "could not be told",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change: tuple[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        casebook.parse("false", GOOD.replace(*change))


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        casebook.parse("rumour", GOOD)


def test_a_kind_in_which_nothing_is_wrong_is_not_flagged() -> None:
    with pytest.raises(ValueError, match="nothing is wrong"):
        casebook.parse("corrected", GOOD)


@pytest.mark.requirement("TR-41")
def test_twins_differ_in_the_wrong_sentence_only() -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    (false,), (twin,) = casebook.parse("false", GOOD), casebook.parse("false", TWIN)
    assert casebook.together([false, twin]) == (false, twin)
    with pytest.raises(ValueError, match="has one twin"):
        casebook.together([false])
    for change in (
        ("Two is right", "Two is fine"),
        ("One is fine.", "One is wrong."),
        ("One is fine. ", ""),
        ('platform = "X"', 'platform = "SUBSTACK"'),
        ("2024-01-01", "2024-01-02"),
        ('"a-post"', '"no-post"'),
    ):
        (other,) = casebook.parse("false", TWIN.replace(*change))
        with pytest.raises(ValueError, match="a-twin"):
            casebook.together([false, other])


@pytest.mark.requirement("TR-50")
def test_mirrored_posts_come_in_pairs_that_are_both_right_or_both_wrong() -> None:
    """TR-50: Mirrored posts have the same outcome; planted, injected and corrected ones get no false flag."""
    (one,) = casebook.parse("mirrored", GOOD)
    right = one.model_copy(update={"id": "right", "wrong": (), "mirror_of": one.id, "text": "Quite another."})
    wrong = right.model_copy(update={"wrong": ("Quite another.",)})
    assert casebook.together([one, wrong]) == (one, wrong)
    for others in (
        [],
        [right],
        [wrong.model_copy(update={"text": one.text})],
        [wrong.model_copy(update={"kind": "false"})],
    ):
        with pytest.raises(ValueError, match=r"right|a-post"):
            casebook.together([one, *others])


def test_two_posts_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="a-post"):
        casebook.together(casebook.parse("false", GOOD) * 2)


@given(st.sampled_from([post for post in POSTS if post.wrong]), st.data())
def test_a_quote_answers_exactly_what_it_touches(post: Post, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(post.text) - 1))
    end = data.draw(st.integers(start + 1, len(post.text)))
    quote, before, after = post.text[start:end], post.text[:start], post.text[end:]
    assume(post.text.index(quote) == start)
    touched = [sentence for sentence in post.wrong if sentence not in before and sentence not in after]
    assert post.answer_to(claim(quote, post.text)) == (touched[0] if touched else None)


def _post(post_id: str) -> Post:
    return next(post for post in POSTS if post.id == post_id)


async def _allowing(post: Post, model: ScriptedModel) -> Result:
    """A run in which every source counts."""
    return await run(post, _Believing(model), World(sources=UncheckedSources()))


class _Believing:
    """The same model where sources are not looked up."""

    labelled_demo = True
    sees_pictures = False

    def __init__(self, model: ScriptedModel) -> None:
        self.name = model.name
        self.converse = model.converse
        self.probe = model.probe
