"""Each gate stops its case and passes the twin, which differs in what the gate looks at alone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.gates import GATES, REASONS, RULES, Case, judge
from analyses.opinion import GATE as OPINION
from contracts.v1.gates import GateName, GatePolicy
from tests.unit.analyses.gates.cases import (
    FIRST,
    NOW,
    SECOND,
    SENTENCE,
    SUMMARY,
    case,
    page,
    refused,
    with_snippets,
    without,
)


class Pair(NamedTuple):
    """A case that a gate stops, and one that it passes."""

    gate: GateName
    code: str
    stopped: Case
    passed: Case


MIRROR = page(1, FIRST, url="https://copies.example/x", text=page(0).text)
LONG_AGO = datetime(2015, 5, 1, tzinfo=UTC)
PRESIDENT = "Ann Smith is the president of Ruritania."
PRESIDENTS = with_snippets("Bob Jones is the president of Ruritania", "Ruritania is led by president Bob Jones")
LATER = with_snippets("Since 2020 its president has been Bob Jones", "In 2020 Bob Jones was elected president")
THEN = with_snippets("From 2012 to 2019 its president was Bob Jones", "In 2012 Bob Jones was elected president")
POPULATION = "In 1990 Denmark had 4.1 million inhabitants."
HURT = "Three people were hurt in the fire."

_TORN = "The new bridge ... is open to cars"
PAIRS = [
    Pair("satire", "SATIRICAL_PUBLICATION", case(post_url="https://www.theonion.com/a"), case()),
    Pair("satire", "SATIRICAL_PUBLICATION", case(author_name="The Onion"), case(author_name="Onion Farmers' Weekly")),
    Pair("satire", "SATIRICAL_PUBLICATION", case(author_name="Ann (parody)"), case(author_name="Ann Parodi")),
    Pair("satire", "SAYS_IT_IS_SATIRE", case(behind=" [satire]"), case(behind=" I like a satire.")),
    Pair(
        "satire",
        "SOURCE_IS_SATIRE",
        case(pages=[page(0, is_satire=True), page(1, SECOND, url="https://babylonbee.com/x")]),
        case(pages=[page(0), page(1, SECOND), page(2, url="https://babylonbee.com/x")]),
    ),
    Pair(
        "assertion",
        "LANGUAGE_NOT_KNOWN",
        case("Эйфелева башня имеет высоту 200 метров.", before="Мы были там весной. ", behind=" Было людно."),
        case("La tour Eiffel mesure 200 mètres.", before="Nous y étions au printemps. ", behind=" Elle est belle."),
    ),
    Pair(
        "assertion",
        "LANGUAGE_NOT_KNOWN",
        case("Eiffeltårnet er 200 meter højt.", before="Vi tog til Paris for at se det. ", behind=" Der var fyldt."),
        case("De Eiffeltoren is 200 meter hoog.", before="We waren in Parijs. ", behind=" Er was veel volk."),
    ),
    Pair("assertion", "IS_A_QUESTION", case("Is the Eiffel Tower 200 metres tall?"), case()),
    Pair(
        "assertion",
        "IS_A_QUOTATION",
        case(before="My neighbour said: “He told me. ", behind="”"),
        case(before="My “neighbour” told me. "),
    ),
    Pair("assertion", "IS_A_QUOTATION", case(before='He wrote "'), case(before='He wrote "no". ')),
    Pair("assertion", "IS_A_QUOTATION", case(before="Er sagte: „Nun. "), case(before="Er sagte: „Nun.“ Und: ")),
    Pair("assertion", "IS_A_QUOTATION", case(before="Il dit « Oui. "), case(before='Ein »Turm«, 9" hoch, steht da. ')),
    Pair(
        "assertion",
        "IS_A_QUOTATION",
        case(before="He doesn't know. 'I read it. ", behind=" So what?' he said."),
        case(before="He doesn't know the kings' men, 'so to speak', of the '90s. ", behind=" The kings' men say so."),
    ),
    Pair("assertion", "IS_A_QUOTATION", case(before="It said: '", behind="' It did."), case(behind=" The kings' men.")),
    Pair("assertion", "IS_STRUCK_OUT", case(before="~~", behind="~~ It is 330."), case()),
    Pair("assertion", "IS_REFUTED_THERE", case(before="Myth: "), case(before="Fact: ")),
    Pair("assertion", "IS_REFUTED_THERE", case(behind=" That's wrong."), case(behind=" That's nice.")),
    Pair("assertion", "IS_REFUTED_THERE", case(behind=" Nope, it is 330."), case(behind=" No wonder.")),
    Pair("assertion", "IS_REFUTED_THERE", case(behind=" Wrong! It is 330."), case(behind=" Wrong turns led us there.")),
    Pair(
        "assertion",
        "IS_REFUTED_THERE",
        case(behind=" That is a myth, of course."),
        case(behind=" It is not true that bats are blind."),
    ),
    Pair(
        "assertion",
        "IS_REFUTED_THERE",
        case(behind=" It is not true."),
        case(behind=" My brother had the mistaken, debunked idea of taking the stairs."),
    ),
    Pair(
        "assertion",
        "IS_REFUTED_THERE",
        case("Many believe that the Eiffel Tower is 200 metres tall."),
        case("I know that the Eiffel Tower is 200 metres tall."),
    ),
    Pair(
        "assertion",
        "IS_A_SUPPOSITION",
        case("If the Eiffel Tower is 200 metres tall, we can climb it."),
        case("As the Eiffel Tower is 200 metres tall, we can climb it."),
    ),
    Pair("assertion", "IS_A_SUPPOSITION", case("Imagine the Eiffel Tower were 200 metres tall."), case()),
    Pair(
        "assertion",
        "IS_REFUTED_THERE",
        case("De Eiffeltoren is 200 meter hoog.", before="Dat is een mythe: "),
        case("De Eiffeltoren is 200 meter hoog.", before="Dat is een feit: "),
    ),
    Pair("assertion", "IS_A_JEST", case(behind=" Just kidding."), case(behind=" So it is.")),
    Pair(
        "assertion",
        "IS_CORRECTED_THERE",
        case(behind=" It was fun. Correction: the Eiffel Tower is 330 metres tall."),
        case(behind=" It was fun. Correction: the Seine is 777 km long."),
    ),
    Pair(
        "independence",
        "NO_INDEPENDENT_SOURCE",
        case(pages=[page(0, url="https://en.wikipedia.org/wiki/X"), page(1, SECOND, url="https://old.reddit.com/r/x")]),
        case(pages=[page(0), page(1, SECOND), page(2, url="https://en.wikipedia.org/wiki/X")]),
    ),
    Pair(
        "independence",
        "NO_INDEPENDENT_SOURCE",
        case(post_url="https://blog.ann.example/a", pages=[page(0, url="https://www.ann.example/me")]),
        case(post_url="https://blog.ann.example/a"),
    ),
    Pair(
        "independence",
        "NO_INDEPENDENT_SOURCE",
        case(pages=[page(0, names_us=True), page(1, SECOND, names_us=True)]),
        case(pages=[page(0), page(1, SECOND), page(2, names_us=True)]),
    ),
    Pair(
        "independence",
        "NO_INDEPENDENT_SOURCE",
        case(
            pages=[page(0, url="https://a.pages.example/x"), page(1, SECOND, url="https://b.pages.example/x")],
            policy=GatePolicy(rules=RULES, ugc_hosts=("pages.example",)),
        ),
        case(policy=GatePolicy(rules=RULES, ugc_hosts=("pages.example",))),
    ),
    Pair("families", "TOO_FEW_SOURCES", case(pages=[page(0)]), case()),
    Pair("families", "TOO_FEW_SOURCES", case(pages=[page(0), MIRROR]), case(pages=[page(0), MIRROR, page(1, SECOND)])),
    Pair(
        "families",
        "TOO_FEW_SOURCES",
        case(pages=[page(0), page(1, SECOND, url="https://www.tower.example/b")]),
        case(pages=[page(0)], policy=GatePolicy(rules=RULES, families=1)),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case(
            POPULATION,
            "It had 5.1 million.",
            with_snippets("In 2005 it had 5.1 million people", "5.1 million lived there in 2006"),
        ),
        case(
            POPULATION,
            "It had 5.1 million.",
            with_snippets("In 1990 it had 5.1 million people", "5.1 million lived there in 1990"),
        ),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case(POPULATION, "It had 5.1 million.", with_snippets("It has 5.1 million people", "5.1 million live there")),
        case(
            POPULATION,
            "It had 5.1 million.",
            with_snippets("It had 5.1 million people in 1990", "5.1 million lived there in 1990"),
        ),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case(PRESIDENT, "It is Bob Jones.", LATER, published_at=LONG_AGO),
        case(PRESIDENT, "It was Bob Jones.", THEN, published_at=LONG_AGO),
    ),
    Pair(
        "time",
        "MAY_HAVE_BEEN_TRUE",
        case(PRESIDENT, "It is Bob Jones.", PRESIDENTS, published_at=LONG_AGO),
        case(PRESIDENT, "It is Bob Jones.", PRESIDENTS),
    ),
    Pair(
        "freshness",
        "SOURCE_IS_OLD",
        case(pages=[page(0, fetched_at=NOW - timedelta(days=2)), page(1, SECOND)]),
        case(pages=[page(0, fetched_at=NOW - timedelta(hours=23)), page(1, SECOND)]),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case("Bats are blind.", "They see.", with_snippets("all bats can see well", "in 2031 bats will see well")),
        case("Bats are blind.", "They see.", with_snippets("all bats can see well", "in 2021 bats could see well")),
    ),
    Pair(
        "freshness",
        "SOURCE_IS_OLD",
        case(PRESIDENT, "It is Bob Jones.", [replace(each, published="2025-01-01") for each in PRESIDENTS]),
        case(PRESIDENT, "It is Bob Jones.", [replace(each, published="2026-02-20T08:00") for each in PRESIDENTS]),
    ),
    Pair(
        "freshness",
        "SOURCE_IS_OLD",
        case(PRESIDENT, "It is Bob Jones.", [replace(each, published="2005-01-01") for each in PRESIDENTS]),
        case(pages=[replace(each, published="2005-01-01") for each in with_snippets(FIRST, SECOND)]),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case(
            "Last year the Eiffel Tower was 200 metres tall.",
            pages=with_snippets("In 2020 the tower was 330 m tall", "the tower's height in 2020: 330 m"),
        ),
        case(
            "Last year the Eiffel Tower was 200 metres tall.",
            pages=with_snippets("In 2025 the tower was 330 m tall", "the tower's height in 2025: 330 m"),
        ),
    ),
    Pair(
        "time",
        "SOURCE_OF_ANOTHER_TIME",
        case(
            pages=with_snippets("From 1889 on it grew to 330 m in 2025", "Built in 1889, it had 330 m in 2025"),
            published_at=datetime(2012, 5, 1, tzinfo=UTC),
        ),
        case(
            pages=with_snippets("From 1889 on it grew to 330 m in 2011", "Built in 1889, it had 330 m in 2011"),
            published_at=datetime(2012, 5, 1, tzinfo=UTC),
        ),
    ),
    Pair(
        "contradiction",
        "SOURCE_DOES_NOT_SHOW_IT",
        case(pages=with_snippets("The tower is very tall indeed", "It is the tallest tower of all")),
        case(),
    ),
    Pair(
        "contradiction",
        "SOURCE_DOES_NOT_SHOW_IT",
        case(pages=with_snippets(FIRST, "It is the tallest tower of all")),
        case(pages=with_snippets(FIRST, "It is 1,083 ft tall all in all")),
    ),
    Pair(
        "contradiction",
        "SOURCE_SAYS_THE_SAME",
        case(pages=[*with_snippets(FIRST, SECOND), page(2, "The tower is 200 m tall")]),
        case(pages=[*with_snippets(FIRST, SECOND), page(2, "The tower has 200 lamps")]),
    ),
    Pair(
        "contradiction",
        "SOURCE_SAYS_THE_SAME",
        case(
            summary="By the survey of 1990 the tower is 330 metres tall.",
            pages=with_snippets("In the survey of 1990 the tower was 200 m tall", "200 m since the year 1990"),
        ),
        case(
            summary="By the survey of 1990 the tower is 330 metres tall.",
            pages=with_snippets("In the survey of 1990 the tower was 330 m tall", "330 m since the year 1990"),
        ),
    ),
    Pair(
        "contradiction",
        "SOURCE_SAYS_THE_SAME",
        case(
            "The rate is 5 per cent.",
            "The rate is 7 per cent.",
            with_snippets("the rate was 5 % in 7 of 9 cities", "7 experts found a rate of 5 percent"),
        ),
        case(
            "The rate is 5 per cent.",
            "The rate is 7 per cent.",
            with_snippets("the rate was 7 % in 5 of 9 cities", "5 experts found a rate of 7 percent"),
        ),
    ),
    Pair(
        "contradiction",
        "SOURCE_SAYS_THE_SAME",
        case(
            "Lyon is the capital of France.",
            "Paris is.",
            with_snippets("as we know, Lyon is the capital of France", "Paris is the capital of France"),
        ),
        case(
            "Lyon is the capital of France.",
            "Paris is.",
            with_snippets("Not everybody knows that Paris is it", "Paris is the capital of France"),
        ),
    ),
    Pair(
        "contradiction",
        "SOURCE_DOES_NOT_SHOW_IT",
        case(
            "Lyon is the capital.", "It is Paris.", with_snippets("The government sits there", "France has a capital")
        ),
        case("Lyon is the capital.", "It is Paris.", with_snippets("Paris is the capital", "France's capital, Paris")),
    ),
    Pair(
        "contradiction",
        "SOURCE_DOES_NOT_SHOW_IT",
        case("Lyon is the capital.", "It is Paris.", with_snippets("Paris is the capital", "France has a capital")),
        case(
            "Lyon is the capital.",
            "It is Paris.",
            with_snippets("Paris is the capital", "France has a capital"),
            policy=GatePolicy(rules=RULES, families=1),
        ),
    ),
    Pair(
        "contradiction",
        "QUOTED_WITHOUT_ITS_NEGATION",
        case(
            "Nobody was hurt in the fire.",
            "People were hurt.",
            [page(0, "people were hurt in the fire", before="Luckily, no "), page(1, "several people were hurt there")],
        ),
        case(
            "Nobody was hurt in the fire.",
            "People were hurt.",
            [page(0, "people were hurt in the fire", before="Sadly, "), page(1, "several people were hurt there")],
        ),
    ),
    Pair(
        "contradiction",
        "QUOTED_WITHOUT_ITS_NEGATION",
        case(
            "The bridge is closed to cars.",
            "It is open.",
            [
                page(0, _TORN, words="A tunnel is open to cars. The new bridge, we hear, never is open to cars."),
                page(1, "cars may use the bridge"),
            ],
        ),
        case(
            "The bridge is closed to cars.",
            "It is open.",
            [
                page(0, _TORN, words="No tunnel is open to cars. The new bridge, we hear, is open to cars."),
                page(1, "cars may use the bridge"),
            ],
        ),
    ),
    Pair(
        "contradiction",
        "QUOTED_WITHOUT_ITS_NEGATION",
        case(pages=[page(0, "the tower is 330 metres tall", behind=", which is a myth"), page(1, SECOND)]),
        case(pages=[page(0, "the tower is 330 metres tall", behind=", which is a lot"), page(1, SECOND)]),
    ),
]


@pytest.mark.requirement("TR-47")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.gate}-{pair.code}")
def test_a_gate_stops_its_case_and_passes_the_twin(pair: Pair) -> None:
    """TR-47: Each gate stops its case and passes the twin."""
    assert refused(pair.stopped) == (pair.gate, pair.code)
    assert refused(pair.passed) is None


def test_every_gate_and_every_reason_has_a_case() -> None:
    assert {pair.gate for pair in PAIRS} == set(GATES) == set(get_args(GateName)) - {OPINION}
    assert {pair.code for pair in PAIRS} == {code for code in REASONS if not str(code).startswith("OPINION_")}


def test_only_pages_that_count_are_left() -> None:
    wiki = page(2, url="https://de.wikipedia.org/wiki/Eiffelturm")
    judgement = judge(case(pages=[page(0), page(1, SECOND), wiki]))
    assert [each.number for each in judgement.counted] == [0, 1]
    assert [(each.gate, each.outcome) for each in judgement.results] == [(gate, "PASS") for gate in GATES]


def test_the_first_refusal_ends_the_judgement() -> None:
    judgement = judge(case(author_name="The Onion", pages=[page(0)]))
    assert [(each.gate, each.outcome) for each in judgement.results] == [("satire", "FAIL")]


@given(off=st.sets(st.sampled_from(get_args(GateName))))
def test_a_gate_that_is_off_says_nothing(off: set[GateName]) -> None:
    judgement = judge(without(case(author_name="The Onion", pages=[page(0)]), *sorted(off)))
    assert not off & {each.gate for each in judgement.results}


@given(pair=st.sampled_from(PAIRS), words=st.text(max_size=200))
def test_any_page_beside_them_never_saves_a_refused_claim_nor_breaks_a_gate(pair: Pair, words: str) -> None:
    added = page(3, words, url="https://en.wikipedia.org/wiki/Any")
    assert refused(replace(pair.stopped, pages=(*pair.stopped.pages, added))) is not None


def test_a_name_that_the_sentence_has_too_does_not_show_its_correction() -> None:
    silent = with_snippets("The government of France sits there", "Like others, France has a capital")
    given = "Lyon is the capital of France.", "The capital of France is Paris."
    assert refused(case(*given, silent)) == ("contradiction", "SOURCE_DOES_NOT_SHOW_IT")
    assert refused(case(*given, with_snippets("France is ruled from Paris", "France's capital, Paris"))) is None


def test_our_own_pages_are_no_sources() -> None:
    policy = GatePolicy(rules=RULES, own_hosts=("errata.example",))
    ours = [page(0, url="https://errata.example/x"), page(1, SECOND, url="https://www.errata.example./y")]
    assert refused(case(pages=ours, policy=policy)) == ("independence", "NO_INDEPENDENT_SOURCE")
    assert refused(case(policy=policy)) is None


@pytest.mark.requirement("TR-47")
def test_what_the_gates_decide_never_changes_under_a_version() -> None:
    """TR-47: Each gate stops its case and passes the twin."""
    decided = [judge(each).results for pair in PAIRS for each in (pair.stopped, pair.passed)]
    released = json.loads((Path(__file__).parent / "released_gates.json").read_text())
    assert released.get(RULES) == sha256(repr(decided).encode()).hexdigest(), (
        f"Something is decided otherwise than under {RULES}: give the gates a new version and add it to "
        "released_gates.json, or a replay of what was recorded will say DIFFERENT and nobody will know why."
    )
    assert released["gates-1"] == released["gates-2"], "the second version adds an opinion, and code decides as before"
    assert len(set(released.values())) == len(released) - 1


def test_the_case_is_what_it_seems() -> None:
    assert SENTENCE in case().post_text
    assert (case().claim.summary, len(case().pages)) == (SUMMARY, 2)
