"""When the demo is silent: asked, quoted, denied, doubted, told as a story. A false accusation costs everything."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.models.demo_catalogue import catalogue
from kit.models.demo_reading import SENTENCE, fold
from tests.support.demo_runs import FACT_CHECK, flagged, investigate, review, submitted

KNOWN = catalogue()
PLAIN = "Bats are blind."

DENIED = """
It is a myth that bats are blind.
Contrary to popular belief, bats are blind is not true.
Bats are not blind.
Bats aren't blind.
Bats are not really blind.
No bats are blind.
Some people believe that bats are blind.
Many people think bats are blind.
People say that bats are blind.
My teacher told me that bats are blind.
He claims that bats are blind.
Bats are said to be blind.
Bats are blind, or so they say.
Bats are blind, according to an old myth.
Bats are blind is a common misconception.
Bats are blind? No.
Are bats blind?
Do you think that bats are blind?
Did you know that bats are blind?
If bats are blind, how do they fly?
Bats are blind if their eyes are covered.
Bats are almost blind.
Bats are nearly blind.
Not all bats are blind.
Bats are blind...
Bats are blind?!
bats are blind.
Some flying animals, e.g. bats are blind.
Bats are "blind".
Bats are 'blind'.
"Bats are blind."
'Bats are blind.'
(Bats are blind.)
[Bats are blind.]
*Bats are blind.*
Myth: Bats are blind.
Myth: bats are blind. Fact: they see well.
Bats are blind (this is false).
Bats are blind: that is what I thought.
Bats are blind - not.
False: bats are blind.
The statement that bats are blind is wrong.
The belief that bats are blind is old.
Nobody thinks that bats are blind.
I used to think bats are blind.
In the novel, bats are blind.
Imagine that bats are blind.
Bats are blind in this game.
Bats are blind to ultraviolet light.
These bats are blind.
Young bats are blind.
The Miami Bats are blind to the danger.
""".strip().splitlines()

AROUND = """
Here is a common misconception. {}
This is a myth. {}
Is it true? {}
My grandmother used to say this. {}
She told me something. {}
Suppose the following. {}
I once believed this. {}
Two truths and a lie. {}
{} This is false.
{} That is a myth.
{} Wrong!
{} No, they are not.
{} But they can see quite well.
{} However, that is not what we found.
{} In reality they see.
{} Actually, they see.
{} Experiments show that they see.
{} At least that is what people believe.
{} They don't need lamps.
{} Right?
{} Just kidding!
""".strip().splitlines()

QUOTED = """
"{}"
"We know a lot. {} That is all," he said.
He wrote: "We know a lot. {} That is all."
'We know a lot. {} That is all,' he replied.
\u00ab We know a lot. {} That is all. \u00bb
\u201eWe know a lot. {} That is all."
He measured 5'10" that day. "We know a lot. {} That is all."
"An opening that is never closed. {} And on it goes.
""".strip().splitlines()

OPENINGS = """
Ten myths about animals.
Common misconceptions, and what is right.
Fact check: what we found this week.
A short story about the night.
This is satire.
True or false? A quiz.
""".strip().splitlines()

NEUTRAL = "We sat by the river and talked for an hour. "


async def test_the_plain_sentence_is_flagged_so_silence_below_means_something() -> None:
    assert await flagged(PLAIN) == [PLAIN]
    assert await flagged(f"{NEUTRAL}{PLAIN} {NEUTRAL}") == [PLAIN]


@pytest.mark.requirement("2.4.2-02")
@pytest.mark.parametrize("sentence", DENIED)
async def test_denied_asked_hedged_or_marked_sentences_are_not_flagged(sentence: str) -> None:
    """2.4.2-02: Instructions demand concrete evidence, leave out satire and dispute, prefer silence."""
    assert await flagged(sentence) == []
    assert await flagged(f"{NEUTRAL}{sentence} {NEUTRAL}") == []


@pytest.mark.parametrize("frame", AROUND)
async def test_a_neighbour_that_doubts_or_replies_silences(frame: str) -> None:
    assert await flagged(NEUTRAL + frame.format(PLAIN) + " " + NEUTRAL) == []


@pytest.mark.parametrize("frame", QUOTED)
async def test_words_of_somebody_else_are_not_flagged(frame: str) -> None:
    assert await flagged(NEUTRAL + frame.format(PLAIN)) == []


@pytest.mark.parametrize("opening", OPENINGS)
async def test_an_article_about_errors_or_fiction_is_left_alone(opening: str) -> None:
    assert await flagged(f"{opening} {NEUTRAL * 5}{PLAIN} {NEUTRAL}") == []


@pytest.mark.parametrize(
    "lead", ["In fact, ", "Of course ", "Everyone knows that ", "It is a well-known fact that ", "And "]
)
async def test_openings_that_add_nothing_do_not_hide_an_error(lead: str) -> None:
    assert await flagged(f"{lead}bats are blind.") == [f"{lead}bats are blind."]


@pytest.mark.parametrize(
    "sentence",
    [
        "BATS ARE BLIND!",
        "The bats are blind.",
        "Bats are really blind.",
        "Bats are blind",
        "Humans use only 10% of their brains.",
        "Humans only use ten per cent of their brain.",
        "Goldfish have a three-second memory.",
        "The Great Wall of China is the only man-made structure visible from space.",
        "Lightning doesn't strike the same place twice.",
    ],
)
async def test_small_variations_are_still_the_same_sentence(sentence: str) -> None:
    assert await flagged(NEUTRAL + sentence) == [sentence]


async def test_errors_beside_each_other_are_all_flagged_once_and_in_order() -> None:
    errors = ["Bats are blind.", "Lightning never strikes twice.", "Spiders are insects."]
    assert await flagged(" ".join([*errors, "The river was quiet.", *errors])) == errors


async def test_a_quote_that_could_be_two_places_is_not_flagged() -> None:
    for times in (2, 3, 4, 50):
        assert await flagged(" ".join(["According to the laws of physics, bumblebees cannot fly."] * times)) == []


innocent = st.text(st.sampled_from("abc BATSrelind.,!?'\"()-\u00ab\u00bb "), max_size=80)
sentences = st.lists(
    st.one_of(
        innocent,
        st.sampled_from([*DENIED, *OPENINGS]),
        st.sampled_from(sorted(KNOWN.by_sentence)).map(lambda words: f"{words[0].upper()}{words[1:]}."),
    ),
    max_size=8,
).map(" ".join)


@given(st.one_of(sentences, st.text()))
@example("  " + " ".join(["Bathtubs flush other way in southern hemisphere because of coriolis effect."] * 3))
async def test_whatever_is_flagged_is_a_verbatim_catalogued_sentence_that_passes_the_gate(text: str) -> None:
    decisions, _ = await investigate(text)
    assert len({each.call_id for each in decisions}) == len(decisions)
    for claim in await submitted(text):
        assert claim.text in text
        assert fold(claim.text) in KNOWN.by_sentence
        assert "?" not in claim.text
        assert FACT_CHECK.check(claim, text) is None
        await review(claim, text)


@given(st.text())
async def test_text_without_a_catalogued_sentence_is_never_flagged(text: str) -> None:
    if not any(fold(found.group()) in KNOWN.by_sentence for found in SENTENCE.finditer(text)):
        assert await flagged(text) == []
