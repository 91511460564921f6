"""The pages of the catalogue: claims with a model's estimates. Nothing here is a correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

from services.gateway.cursors import cut_page, parse_dated_key, read_key
from services.gateway.public.site.changes import Changes, compare_texts
from services.gateway.public.site.rendering import Values
from services.gateway.record.catalogue import EditRow, EntryContents, EvidenceRow, ScenarioRow, State
from services.gateway.record.question import BadQuestion
from services.gateway.record.repository import PublicRecord

PATH: Final = "/claims"
PAGE: Final = 20
QUERY_CHARACTERS: Final = 200
TOO_LONG: Final = f"Please look for at most {QUERY_CHARACTERS} characters."

_EDITS: Final = {
    "CONTENT_CORRECTION": "Content corrected",
    "CLARIFICATION": "Clarified",
    "SYSTEM_REANALYSIS": "Analysed again",
    "MODERATION_ACTION": "Moderated",
    "REVERT": "Taken back",
}
_LOOKED_UP: Final = {
    "FOUND": "its words stand on the page",
    "MISSING": "its words are not on the page",
    "UNAVAILABLE": "the page could not be read",
    "NOT_LOOKED_UP": "the page was not looked up",
}
_UNKNOWN: Final = "what the look-up found is not recorded"


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """A source on a page."""

    row: EvidenceRow

    @property
    def looked_up(self) -> str:
        """What the look-up of the source's page found."""
        return _LOOKED_UP.get(self.row.outcome or "", _UNKNOWN)


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """A scenario of the claim with its sources."""

    row: ScenarioRow
    supporting: Sequence[EvidenceView]
    opposing: Sequence[EvidenceView]

    @property
    def label(self) -> str:
        """The estimate in words."""
        return describe_code(self.row.label)


@dataclass(frozen=True, slots=True)
class EditView:
    """A change of the entry, and what differs."""

    row: EditRow

    @property
    def kind(self) -> str:
        """The type of the change in words."""
        if self.row.edit_type == "MODERATION_ACTION":
            return "Hidden" if self.row.hidden else "Shown again"
        return _EDITS[self.row.edit_type]

    @property
    def differences(self) -> Sequence[tuple[str, Changes]]:
        """What was changed, by field."""
        before, after = self.row.before_state, self.row.after_state
        if before is None or after is None:
            return ()
        return [
            (name, compare_texts(old, new))
            for name in ("wording", "domain", "summary")
            if (old := _field(before, name)) != (new := _field(after, name))
        ]


async def list_claims(record: PublicRecord, text: str, after: str) -> Values:
    """Values of the list's template. An invalid query is reported on the page."""
    refusal, rows = None, []
    try:
        if len(text) > QUERY_CHARACTERS or "\0" in text:
            raise BadQuestion(TOO_LONG)
        place = read_key(after, parse_dated_key) if after else None
        async with record.open() as session:
            rows = [*await session.catalogue.page(text, place, PAGE + 1)]
    except BadQuestion as error:
        refusal = str(error)
    shown, older = cut_page(rows, PAGE, attrgetter("updated_at", "id"))
    return {"q": text, "claims": shown, "refusal": refusal, "older": older, "later": bool(after)}


async def show_claim(record: PublicRecord, id_: UUID, now: datetime) -> Values | None:
    """Values of one claim's template; None if it is hidden or does not exist."""
    async with record.open() as session:
        contents = await session.catalogue.one(id_)
    if contents is None:
        return None
    analysis = contents.analysis
    return {
        "entry": contents.row,
        "analysis": analysis,
        "measure": contents.measure,
        "is_valid": analysis is not None and analysis.is_valid(now),
        "rollup": None if analysis is None else describe_code(analysis.rollup),
        "scenarios": [_view_scenario(contents, each) for each in contents.scenarios],
        "suggested": [each.suggestion for each in contents.suggested],
        "edits": [EditView(each) for each in contents.edits],
        "stale": [describe_code(each).lower() for each in contents.row.stale],
    }


def describe_code(code: str) -> str:
    """A code in words: `HIGHLY_LIKELY` is "Highly likely"."""
    return code.replace("_", " ").capitalize()


def _view_scenario(contents: EntryContents, row: ScenarioRow) -> ScenarioView:
    evidence = [EvidenceView(each) for each in contents.evidence if each.scenario_id == row.id]
    return ScenarioView(
        row, [each for each in evidence if each.row.supports], [each for each in evidence if not each.row.supports]
    )


def _field(state: State, name: str) -> str:
    return {"wording": state.wording, "domain": state.domain, "summary": state.summary or ""}[name]
