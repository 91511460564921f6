"""Builds the catalogue's wire documents from rows. Pure."""

from __future__ import annotations

from datetime import datetime

from contracts.jobs.catalogue import (
    AnalysisView,
    EditView,
    EntryLine,
    EntryView,
    EntryWordsView,
    EvidenceView,
    FlagLine,
    MeasureView,
    ScenarioView,
    SuggestedView,
)
from services.gateway.record.catalogue import (
    AnalysisRow,
    EditRow,
    EntryContents,
    EntryRow,
    EvidenceRow,
    FlagRow,
    State,
    SuggestedRow,
)
from services.gateway.record.measures import MeasureRow


def view_line(row: EntryRow) -> EntryLine:
    """An entry in a list."""
    return EntryLine.model_validate(row, from_attributes=True, strict=False)


def view_flag(row: FlagRow) -> FlagLine:
    """An open objection in the queue."""
    return FlagLine(
        flag_id=row.id,
        entity_type=row.entity_type,
        entity_id=row.entity_id,
        issue_type=row.issue_type,
        description=row.description,
        wording=row.wording,
        raised_at=row.created_at,
    )


def view_entry(contents: EntryContents, now: datetime) -> EntryView:
    """An entry's page. Correctness is claimed only where it was measured."""
    return EntryView(
        entry=view_line(contents.row),
        summary=contents.row.summary,
        analysis=None if contents.analysis is None else _view_analysis(contents, contents.analysis, now),
        suggested_evidence=tuple(_view_suggested(each) for each in contents.suggested),
        edits=tuple(map(_view_edit, contents.edits)),
    )


def _view_suggested(row: SuggestedRow) -> SuggestedView:
    supports, url, text = row.suggestion
    return SuggestedView(supports=supports, text=text, source_url=url, accepted_at=row.resolved_at)


def _view_analysis(contents: EntryContents, row: AnalysisRow, now: datetime) -> AnalysisView:
    return AnalysisView(
        analysed_at=row.analysed_at,
        model=row.model,
        rollup=row.rollup,
        is_valid=row.is_valid(now),
        measured_correctness=None if contents.measure is None else contents.measure.value,
        measure=None if contents.measure is None else _view_measure(contents.measure),
        scenarios=tuple(
            ScenarioView(
                ordinal=each.ordinal,
                description=each.description,
                assumptions=tuple(each.assumptions),
                label=each.label,
                probability=each.probability,
                confidence=each.confidence,
                likelihood_range=each.likelihood_range,
                explanation=each.explanation,
                uncertainty_factors=tuple(each.uncertainty_factors),
                evidence=tuple(_view_evidence(item) for item in contents.evidence if item.scenario_id == each.id),
            )
            for each in contents.scenarios
        ),
    )


def _view_measure(row: MeasureRow) -> MeasureView:
    return MeasureView(share=row.value, at_least=row.at_least, cases=row.n, measured_at=row.hour)


def _view_evidence(row: EvidenceRow) -> EvidenceView:
    return EvidenceView(
        supports=row.supports,
        text=row.text,
        source_url=row.source_url,
        source_title=row.source_title,
        quotes=tuple(row.quotes),
        relevance=row.relevance,
        extracted_at=row.analysed_at,
        archived=row.archived,
        looked_up=row.outcome,
    )


def _view_edit(row: EditRow) -> EditView:
    return EditView(
        version=row.version,
        edit_type=row.edit_type,
        hidden=row.hidden,
        made_at=row.created_at,
        reason=row.reason,
        before=_view_state(row.before_state),
        after=_view_state(row.after_state),
    )


def _view_state(state: State | None) -> EntryWordsView | None:
    return None if state is None else EntryWordsView.model_validate(state, from_attributes=True)
