"""Which words of a job are removed when it is over.

Texts lie under their hash, so the same article would be one text for two jobs. A job's article therefore lies in a
folder of the job, and removing one job's words leaves another's. What goes when the job is over lies in one folder, so
that it is removed at once: the article that was fetched, and what the models of its own steps were sent and answered.
An article that was sent as text is read from its request, which names the job and is kept until its hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from contracts.steps import StepName
from contracts.v1.ids import step_run_id
from contracts.v1.parts import EphemeralRef
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one job: whole folders of answers, and single texts that no other job has."""

    folders: tuple[str, ...]
    texts: tuple[EphemeralRef, ...] = ()


def open_folder(job_id: UUID) -> str:
    """The folder of what is kept only while the job is open."""
    return f"{job_id}/open"


def article_folder(job_id: UUID) -> str:
    """The folder of the article."""
    return f"{open_folder(job_id)}/article"


def run_folder(job_id: UUID, step: StepName) -> str:
    """The folder of the answers to one of the job's own steps."""
    return f"{open_folder(job_id)}/{step_run_id(job_id, step)}"


def name_question(folder: str, before: str | None = None) -> str:
    """The folder of answers to one question of a run, which follows the segment with that hash; None: the first."""
    return f"{folder}/{before or 'first'}"


def list_removable(job: Job) -> Words:
    """What is removed as soon as the job is over: the fetched article and what was said to models and by them.

    Listing a folder costs more than removing from it, so texts that the log names are removed by their names. A job
    that was cancelled is deleted.
    """
    if job.over is not None and job.over.outcome == "CANCELED":
        return list_deleted(job)
    answers = _list_answers(job)
    return Words((), answers) if answers else Words((open_folder(job.job_id),))


def list_deleted(job: Job) -> Words:
    """What is removed of a job that is over and deleted: everything.

    Only where a cancelled one has a webhook, its address, in the request, stays until the message is settled. The
    message about another end was due before, and is tried no more.
    """
    every = list_all(job)
    if job.requested is None or job.over is None or job.over.outcome != "CANCELED" or not job.requested.has_webhook:
        return every
    return Words(every.folders, tuple(each for each in every.texts if each != job.requested.input))


def _list_answers(job: Job) -> tuple[EphemeralRef, ...]:
    """All that an open job's folder holds, where the log names all of it; else nothing.

    It does where the article was sent as text, and each of the job's own steps had its answer from the first question
    of its first attempt: whatever else may have been stored belongs to a later question or attempt.
    """
    if job.requested is None or job.fetched is None or job.fetched.article != job.requested.input:
        return ()
    found = []
    for step, fact in ((EXTRACT, job.extracted), (ASSESS, job.over)):
        end = None if fact is None else fact.end
        answer = None if end is None or end.attempt > 1 else end.transcript
        if answer is None or answer.answers != name_question(run_folder(job.job_id, step)):
            return ()
        found.append(answer)
    return tuple(found)


def list_all(job: Job) -> Words:
    """All words of a job."""
    texts: list[EphemeralRef | None] = []
    if job.requested is not None:
        texts.append(job.requested.input)
    if job.extracted is not None:
        texts.append(job.extracted.extraction)
    if job.over is not None:
        texts.append(job.over.result)
    return Words((str(job.job_id),), tuple(each for each in texts if each is not None))
