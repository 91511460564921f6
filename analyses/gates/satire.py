"""Refuse satire: a satirical post is not wrong, and a satirical page proves nothing."""

from __future__ import annotations

import re
from typing import Final

from analyses.gates.case import PASS, Case, Ruling
from analyses.gates.lists import CUES, SATIRE_HOSTS, SATIRE_NAMES, find_host, is_on

_MARK_CHARACTERS: Final = 400
"""How much of a post's beginning and end is searched for a note that it is satire. Units: characters."""
_NAME: Final = re.compile(r"\w+")


def check_satire(case: Case) -> Ruling:
    """Refuse sentences of satirical posts, and leave out satirical pages."""
    if is_on(find_host(case.post_url), SATIRE_HOSTS) or _is_satirist(case.author_name):
        return Ruling("SATIRICAL_PUBLICATION")
    text = case.post_text
    if CUES.satire.search(f"{text[:_MARK_CHARACTERS]}\n{text[-_MARK_CHARACTERS:]}"):
        return Ruling("SAYS_IT_IS_SATIRE")
    counted = tuple(each for each in case.pages if not (each.is_satire or is_on(find_host(each.url), SATIRE_HOSTS)))
    if len(counted) == len(case.pages):
        return PASS
    return Ruling(None if counted else "SOURCE_IS_SATIRE", counted)


def _is_satirist(name: str | None) -> bool:
    if name is None:
        return False
    words = _NAME.findall(name.casefold())
    return " ".join(words) in SATIRE_NAMES or CUES.satire_name.search(name) is not None
