"""Check that the post itself asserts the sentence, and does not quote, suppose, joke about or refute it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from analyses.gates.case import PASS, Case, Ruling
from analyses.gates.lists import CUES
from analyses.language_groups import is_in_any

_BEFORE: Final = 120
_BEHIND: Final = 200
"""How far before and after a sentence words that show how it is meant are looked for. Units: characters."""
_QUOTATION: Final = 800
_NOTICE: Final = 300
_SHARED_WORDS: Final = 2
_LONG_WORD: Final = re.compile(r"\w{5,}|\d+")
_CLOSED_BY: Final[Mapping[str, str]] = MappingProxyType(
    {"“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", '"': '"'}
)
_OPENS: Final = re.compile(r"(?<![\w'])'(?=[^\W\d])")
_CLOSES: Final = re.compile(r"(?<=[\w.,!?\"])'(?![\w'])")
"""Single quotation marks, but no apostrophe inside a word. That of a plural (`the kings' men`) closes a quotation."""
_INCHES: Final = re.compile(r'(?<=\d)"')
_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”’)\]]*\s")
_DENIES_A_CLAUSE: Final = re.compile(
    r"(?:(?:no|non|não) )?(?:it|es|il|het|é|è)\b[^.!?]*?\b(?:that|dass|que|che|dat)\b", re.IGNORECASE
)
""""It is not true that …", which denies what follows."""
_STRUCK: Final = re.compile(r"~~[^~]*$")


def check_assertion(case: Case) -> Ruling:
    """Refuse a sentence that the post does not assert."""
    sentence, text = case.claim.text, case.post_text
    at = max(0, text.find(case.claim.context)) + max(0, case.claim.context.find(sentence))
    before, behind = text[max(0, at - _BEFORE) : at], text[at + len(sentence) : at + len(sentence) + _BEHIND]
    lead = before[_last_end(before) :]
    if not is_in_any(f"{before}{sentence}{behind}"):
        return Ruling("LANGUAGE_NOT_KNOWN")
    if sentence.rstrip("\"'”’)] ").endswith("?"):
        return Ruling("IS_A_QUESTION")
    if _is_quoted(text[max(0, at - _QUOTATION) : at]) or _is_in_single_marks(before, f"{sentence}{behind}"):
        return Ruling("IS_A_QUOTATION")
    if _STRUCK.search(before) and "~~" in behind:
        return Ruling("IS_STRUCK_OUT")
    following = _next_sentence(behind)
    if CUES.refutation.search(f"{lead}{sentence}") or _refutes(following):
        return Ruling("IS_REFUTED_THERE")
    if CUES.hypothesis.search(f"{lead}{sentence}") or CUES.condition.match(f"{lead}{sentence}".lstrip("\"'“„«( ")):
        return Ruling("IS_A_SUPPOSITION")
    if CUES.jest.search(following):
        return Ruling("IS_A_JEST")
    return Ruling("IS_CORRECTED_THERE") if _is_corrected(text, at, sentence) else PASS


def _last_end(before: str) -> int:
    """The offset at which the last, unfinished sentence of these words begins."""
    ends = [each.end() for each in _SENTENCE_END.finditer(before)]
    return ends[-1] if ends else 0


def _refutes(following: str) -> bool:
    """Whether a sentence denies the one before it, rather than its own subordinate clause."""
    bare = following.lstrip("\"'“„«( ")
    if not CUES.reference.match(bare) or _DENIES_A_CLAUSE.match(bare):
        return False
    return CUES.refutation.search(bare) is not None


def _next_sentence(behind: str) -> str:
    start = len(behind) - len(behind.lstrip(".!?…\"'”’)] "))
    end = _SENTENCE_END.search(behind, start)
    return behind[start:] if end is None else behind[start : end.end()]


def _is_quoted(before: str) -> bool:
    """Whether a quotation is still open at the end of these words."""
    closing: list[str] = []
    for mark in _INCHES.sub("", before):
        if closing and mark in closing[-1]:
            closing.pop()
        elif mark in _CLOSED_BY:
            closing.append(_CLOSED_BY[mark])
    return bool(closing)


def _is_in_single_marks(before: str, behind: str) -> bool:
    """Whether a quotation in single marks is open at the end of `before` and closed in `behind`."""
    opened = [each.end() for each in _OPENS.finditer(f"{before}{behind[:1]}")]
    return bool(opened) and not _CLOSES.search(before, opened[-1]) and _CLOSES.search(behind) is not None


def _is_corrected(text: str, at: int, sentence: str) -> bool:
    """Whether a correction notice elsewhere in the post is about the sentence."""
    own = set(map(str.casefold, _LONG_WORD.findall(sentence)))
    for notice in CUES.correction.finditer(text):
        if at <= notice.start() < at + len(sentence):
            continue
        correction = text[notice.end() : notice.end() + _NOTICE].replace(sentence, "")
        if len(own & set(map(str.casefold, _LONG_WORD.findall(correction)))) >= _SHARED_WORDS:
            return True
    return False
