"""Check that the quoted words contradict the sentence, as far as numbers, units, dates and negations show it.

A quotation that says what the sentence says supports it, whatever the correction claims. Everything that depends on the
meaning of words is left to the reviewer.
"""

from __future__ import annotations

import re
from typing import Final

from analyses.gates.case import PASS, Case, CitedPage, Ruling
from analyses.gates.independence import count
from analyses.gates.lists import CUES
from analyses.gates.quantities import Quantity, find_new, find_quantities, is_among
from analyses.snippets import fold

_WORDS_BEFORE: Final = 5
_WORDS_BEHIND: Final = 7
_ELLIPSIS: Final = re.compile(r"(?:(?<!\s)\s++)?(?:\.\.\.|…|\[\.\.\.\]|\[…\])\s*")
_BREAK: Final = re.compile(r"[.!?;:](?=\s)|\n")
_WORD: Final = re.compile(r"\w[\w'’-]+")
_FIRST: Final = re.compile(r"(?:^|[.!?:;]\s+)[\"“„«']?(\w[\w'’-]+)")
_MIN_SENTENCE: Final = 20
"""A shorter sentence may be on any page by chance. Units: characters."""


def check_contradiction(case: Case) -> Ruling:
    """Refuse a claim whose sources do not show its correction, or show the sentence itself."""
    if any(map(_is_torn, case.pages)):
        return Ruling("QUOTED_WITHOUT_ITS_NEGATION")
    if any(_repeats(page, case) for page in case.pages):
        return Ruling("SOURCE_SAYS_THE_SAME")
    corrected = find_new(case.claim.summary, case.claim.text)
    if not corrected:
        return _check_names(case)
    claimed = {each.dimension for each in find_quantities(case.claim.text)}
    if any(each.dimension is not None and each.dimension in claimed for each in corrected):
        corrected = [each for each in corrected if each.dimension in claimed]  # a year does not show a height
    dimensions = {each.dimension for each in corrected}
    replaced = [each for each in find_quantities(case.claim.text) if each.dimension in dimensions]
    stands = [_contradicts(page, corrected) for page in case.pages]
    if any(_supports(page, replaced) for page, shows in zip(case.pages, stands, strict=True) if not shows):
        return Ruling("SOURCE_SAYS_THE_SAME")
    showing = [family for family, shows in zip(case.families, stands, strict=True) if shows]
    if count(showing) < case.policy.families:
        return Ruling("SOURCE_DOES_NOT_SHOW_IT")
    return PASS


def _check_names(case: Case) -> Ruling:
    """Check that enough sources name the person or thing that the correction names instead, if it names one."""
    names = _names(case.claim.summary) - set(_WORD.findall(case.claim.text))
    if not names:
        return PASS
    pages = zip(case.families, case.pages, strict=True)
    showing = [family for family, page in pages if names & set(_WORD.findall(page.snippet))]
    return PASS if count(showing) >= case.policy.families else Ruling("SOURCE_DOES_NOT_SHOW_IT")


def _names(text: str) -> set[str]:
    """The capitalised words that do not begin a sentence."""
    first = {each.start(1) for each in _FIRST.finditer(text)}
    return {each[0] for each in _WORD.finditer(text) if each[0][0].isupper() and each.start() not in first}


def _contradicts(page: CitedPage, corrected: list[Quantity]) -> bool:
    found = find_quantities(page.snippet)
    return any(is_among(each, found) for each in corrected)


def _supports(page: CitedPage, replaced: list[Quantity]) -> bool:
    found = find_quantities(page.snippet)
    return any(is_among(each, found) for each in replaced)


def _repeats(page: CitedPage, case: Case) -> bool:
    """Whether the page has the sentence in the same words and without a negation."""
    sentence = fold(case.claim.text).strip(" .!\"'").casefold()
    shown = page.shown.casefold()
    at = shown.find(sentence) if len(sentence) >= _MIN_SENTENCE else -1
    return at >= 0 and not _is_denied(shown, at, at + len(sentence))


def _is_torn(page: CitedPage) -> bool:
    """Whether the page denies the quoted words in the same sentence."""
    shown = page.shown
    if page.words is None:
        return False
    parts = [part for part in (fold(each).strip(" \"'") for each in _ELLIPSIS.split(page.snippet)) if part]
    end = 0
    for part in parts:
        at = shown.find(part, end)
        if at < 0:
            break
        end = at + len(part)
        if _is_denied(shown, at, end):
            return True
    return False


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether words shortly before or after, in the same sentence, deny this part of the text."""
    before = _BREAK.split(text[:start])[-1].split()[-_WORDS_BEFORE:]
    if CUES.negation.search(" ".join(before)):
        return True
    if _BREAK.search(text[max(start, end - 1) : end + 1]) or text[end - 1 : end] in ".!?":
        return False
    behind = _BREAK.split(text[end:])[0].split()[:_WORDS_BEHIND]
    return CUES.refutation.search(" ".join(behind)) is not None
