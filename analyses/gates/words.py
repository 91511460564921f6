"""The meanings of the gates and their codes, for the public page of a finding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from contracts.v1.gates import GateName

MEANINGS: Final[Mapping[GateName, str]] = MappingProxyType(
    {
        "satire": "Neither the post nor a source that counts is satire.",
        "assertion": "The post asserts the sentence, and does not quote, suppose, refute or correct it.",
        "independence": "Its sources are not user-generated, not written by a model, not the author's, and not ours.",
        "families": "Its sources are independent of one another: copies, and sites of one owner, count once.",
        "time": "Its sources are about the same time as the sentence.",
        "freshness": "Its sources are recent enough for what they say, and were fetched when this was judged.",
        "contradiction": "The quoted words have the numbers or names of the correction. No source denies what it is "
        "quoted for, and none says what the sentence says.",
        "second_opinion": "A model of another family, which saw only the sentence and the quotations, says that they "
        "show it to be wrong.",
    }
)
"""What it means that a claim passed a gate."""

REASONS: Final[Mapping[str | None, str]] = MappingProxyType(
    {
        "SATIRICAL_PUBLICATION": "The post is on a site, or by an author, known for satire.",
        "SAYS_IT_IS_SATIRE": "The post says of itself that it is satire or a parody.",
        "SOURCE_IS_SATIRE": "Every page that it cites is satire.",
        "LANGUAGE_NOT_KNOWN": "The post is in none of the languages whose words for quoting, supposing, joking and "
        "refuting are known here.",
        "IS_A_QUESTION": "The sentence asks and asserts nothing.",
        "IS_A_QUOTATION": "The post quotes the sentence; it may be somebody else's.",
        "IS_STRUCK_OUT": "The post has struck the sentence out.",
        "IS_REFUTED_THERE": "The post says that the sentence, or its speaker, is wrong, or that it is only alleged.",
        "IS_A_SUPPOSITION": "The sentence supposes and does not assert.",
        "IS_A_JEST": "The post says that the sentence is a joke.",
        "IS_CORRECTED_THERE": "The post corrects the sentence itself.",
        "NO_INDEPENDENT_SOURCE": "Every page that it cites is user-generated, written by a model, on the post's own "
        "site, or relies on this instance.",
        "TOO_FEW_SOURCES": "Too few of its sources are independent of one another: copies, and sites of one owner, "
        "count once.",
        "SOURCE_OF_ANOTHER_TIME": "No page that it cites is about the same time as the sentence.",
        "MAY_HAVE_BEEN_TRUE": "It was written long ago about what changes often, and no page says how it was then.",
        "SOURCE_IS_OLD": "Every page that it cites is too old for what it says.",
        "QUOTED_WITHOUT_ITS_NEGATION": "A page denies, in the same sentence, what it is quoted for.",
        "SOURCE_SAYS_THE_SAME": "A page that it cites says what the sentence says.",
        "OPINION_NOT_SURE": "A second model, which saw only the sentence and the quotations, is not sure enough that "
        "they show it to be wrong.",
        "OPINION_NOT_CALIBRATED": "It is not known how often a second model errs in this language.",
        "OPINION_UNREADABLE": "A second model did not answer the question.",
        "SOURCE_DOES_NOT_SHOW_IT": "The quoted words do not have the numbers or names that the correction gives.",
    }
)
"""The meaning of each code of a refusal."""
