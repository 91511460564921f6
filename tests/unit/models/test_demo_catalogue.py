"""The catalogue is complete: all it says is flagged, all that is true beside it is not, each entry can be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.parts import ClaimPayload
from kit.models.demo_catalogue import Entry, catalogue, expand, parse
from kit.models.demo_reading import fold
from tests.support.demo_runs import FACT_CHECK, flagged, investigate, review

KNOWN = catalogue()
BEFORE, AFTER = "We sat by the river and talked for an hour. ", " Then the boat came and we went home."

TRUE = """
The heart pumps blood through the body.
Water boils at 100 degrees Celsius at sea level.
People use a smartphone for several hours a day.
The human brain weighs about 1.4 kilograms.
Humans share a common ancestor with chimpanzees.
Bats hunt insects at night.
Bats are mammals.
Blind people can learn to read Braille.
The Great Wall of China was built over many centuries.
The Moon is visible by day.
Lightning is hotter than the surface of the Sun.
Antibiotics are prescribed by doctors.
Antibiotics do not work against viruses.
Vaccines do not cause autism.
Vaccines save lives.
The Earth is round.
The Earth is not flat.
Australia is a continent.
Canberra lies between Sydney and Melbourne.
Ankara is the capital of Turkey.
Brazil is the largest country in South America.
Camels live in deserts.
Dogs can hear sounds that people cannot.
Dogs see in colour.
Toads eat insects.
Shaving removes hair.
Hair grows about a centimetre a month.
Einstein won the Nobel Prize in Physics in 1921.
Einstein was good at mathematics.
Napoleon lost the battle of Waterloo.
Columbus reached the Caribbean in 1492.
The Vikings reached North America.
Ostriches are the largest living birds.
Lemmings are small rodents.
Diamonds are hard.
Glass is brittle.
Edison held more than a thousand patents.
Walt Disney died in 1966.
George Washington was the first president of the United States.
Sirius is brighter than Polaris.
Mercury is the smallest planet.
Two is a prime number.
Whales are mammals.
Spiders have eight legs.
The Sahara is in Africa.
The Nile is a river in Africa.
""".strip().splitlines()


def as_sentence(phrasing: str) -> str:
    return f"{phrasing[0].upper()}{phrasing[1:]}."


def test_it_is_large_enough_and_its_ids_are_unique() -> None:
    settled = [entry for entry in KNOWN.entries if not entry.disputed]
    assert len(settled) >= 50
    assert len(KNOWN.entries) - len(settled) >= 3
    assert len({entry.id for entry in KNOWN.entries}) == len(KNOWN.entries)
    assert sum(len(entry.silent) for entry in KNOWN.entries) + len(TRUE) >= 150


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
async def test_every_phrasing_is_flagged_with_a_claim_that_passes_the_gate(entry: Entry) -> None:
    for phrasing in entry.phrasings():
        text = f"{BEFORE}{as_sentence(phrasing)}{AFTER}"
        decisions, _ = await investigate(text)
        assert [each.call_id for each in decisions] == [f"demo-{entry.id}"], phrasing
        claim = decisions[0].value
        assert isinstance(claim, ClaimPayload)
        assert claim.text == as_sentence(phrasing)
        assert FACT_CHECK.check(claim, text) is None
        assert (await review(claim, text)).answer.approved is not entry.disputed


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
async def test_true_sentences_beside_an_entry_are_not_flagged(entry: Entry) -> None:
    for sentence in entry.silent:
        assert await flagged(f"{BEFORE}{sentence}{AFTER}") == []


@pytest.mark.parametrize("sentence", TRUE)
async def test_true_sentences_are_not_flagged(sentence: str) -> None:
    assert await flagged(f"{BEFORE}{sentence}{AFTER}") == []


async def test_no_correction_of_the_catalogue_contradicts_the_catalogue() -> None:
    for entry in KNOWN.entries:
        assert await flagged(f"{BEFORE}{entry.summary}{AFTER}") == []
        assert await flagged(entry.reasoning) == []


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
def test_sources_are_distinct_public_pages(entry: Entry) -> None:
    urls = [source.url for source in entry.sources]
    assert len(set(urls)) == len(urls)
    assert all("." in url.split("/")[2] for url in urls)


@pytest.mark.parametrize(
    ("template", "sentences"),
    [
        ("a b", ["a b"]),
        ("{a|b} c", ["a c", "b c"]),
        ("[a] b", ["a b", "b"]),
        ("[a|b] c", ["a c", "b c", "c"]),
        ("{a [b]|c {d|e}} f", ["a b f", "a f", "c d f", "c e f"]),
    ],
)
def test_templates_spell_out_every_sentence(template: str, sentences: list[str]) -> None:
    assert expand(template) == sentences


@pytest.mark.parametrize("template", ["{a", "a}", "[a|b", "a|b", "{a]", "[a}"])
def test_an_unbalanced_template_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        expand(template)


ENTRY = """
[[entry]]
id = "{id}"
says = ["bats are blind"]
silent = ["Bats fly."]
summary = "They see."
reasoning = "All see."
sources = [{{ url = "{url}", title = "t", snippet = "s" }}]
"""


@pytest.mark.parametrize(
    "document",
    [
        ENTRY.format(id="a", url="https://a.example") + ENTRY.format(id="b", url="https://a.example"),
        ENTRY.format(id="a", url="javascript:alert(1)"),
        ENTRY.format(id="a", url="https://a.example") + 'verdict = "false"',
        ENTRY.format(id="a", url="https://a.example").replace('says = ["bats are blind"]', "says = []"),
    ],
)
def test_a_malformed_or_contradictory_catalogue_is_refused(document: str) -> None:
    with pytest.raises(ValueError):
        parse(document)


@given(st.sampled_from(sorted(KNOWN.by_sentence)), st.data())
def test_case_and_articles_and_adverbs_do_not_change_a_sentence(sentence: str, data: st.DataObject) -> None:
    words = sentence.split(" ")
    at = data.draw(st.integers(0, len(words)))
    added = data.draw(st.sampled_from(["the", "actually", "REALLY", "a"]))
    assert fold(" ".join([*words[:at], added, *words[at:]]).upper()) == fold(sentence)
