"""What is removed at a job's end: by name where the log names all that an open job stored, else the whole folder."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from contracts.steps import StepName
from contracts.v1 import JobEnded
from contracts.v1.ids import step_run_id
from contracts.v1.parts import EphemeralRef
from contracts.v1.run import RunEnd
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT
from lifecycle.audits.words import Words, list_removable, name_question, open_folder, run_folder
from tests.support.audits import asked, words
from tests.support.concluding_jobs import end_of, ended, extracted, fetched

JOB = UUID(int=1)


def answer(step: StepName, before: str | None = None) -> EphemeralRef:
    folder = run_folder(JOB, step)
    return words(step).model_copy(update={"answers": name_question(folder, before)})


def end(step: StepName, **changes: Any) -> RunEnd:
    return end_of(step_run_id(JOB, step)).model_copy(update={"transcript": answer(step), **changes})


def job(**changes: Any) -> Job:
    """A job that is over, whose article was sent as text and whose steps had an answer at once."""
    given: dict[str, Any] = {"article": asked(JOB).input, "extract": end(EXTRACT), "assess": end(ASSESS)} | changes
    return Job(
        JOB,
        requested=asked(JOB),
        fetched=fetched(JOB).model_copy(update={"article": given["article"]}),
        extracted=extracted(JOB).model_copy(update={"end": given["extract"]}),
        over=ended(JOB).model_copy(update={"end": given["assess"]}),
    )


def test_answers_that_the_log_names_are_removed_by_name() -> None:
    assert list_removable(job()) == Words((), (answer(EXTRACT), answer(ASSESS)))


@pytest.mark.parametrize(
    "changes",
    [
        {"article": words("a page")},
        {"extract": None},
        {"assess": None},
        {"extract": end(EXTRACT, attempt=2)},
        {"assess": end(ASSESS, attempt=2)},
        {"assess": end(ASSESS, transcript=None)},
        {"assess": end(ASSESS, transcript=answer(ASSESS, "0" * 64))},
    ],
    ids=["a fetched page", "no extraction", "no assessment", "extracted again", "assessed again", "unnamed", "later"],
)
def test_what_may_hold_more_is_removed_as_a_whole(changes: dict[str, Any]) -> None:
    assert list_removable(job(**changes)) == Words((open_folder(JOB),))


def test_a_job_that_fails_early_is_removed_as_a_whole() -> None:
    failed = JobEnded(job_id=JOB, outcome="FAILED", code="FETCH_FAILED", charged_micro_usd=0)
    assert list_removable(Job(JOB, requested=asked(JOB), over=failed)) == Words((open_folder(JOB),))
