"""Decide which words of a job are removed when it is over.

Texts are stored under their hash, so the same article would be one text for two jobs. A job's article is therefore in
a folder of the job, and removing one job's words keeps another's. All that is removed when the job is over is in one
folder, to be removed at once: the fetched article, and the conversations with models in its own steps. An article that
was sent as text is read from the stored request, which names the job and is kept until it expires.
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
    """Words of one job: whole folders of texts, and single texts that no other job has."""

    folders: tuple[str, ...]
    texts: tuple[EphemeralRef, ...] = ()


def open_folder(job_id: UUID) -> str:
    """The folder of texts that are kept only while the job is open."""
    return f"{job_id}/open"


def article_folder(job_id: UUID) -> str:
    """The folder of the article."""
    return f"{open_folder(job_id)}/article"


def run_folder(job_id: UUID, step: StepName) -> str:
    """The folder of the answers to one of the job's own steps."""
    return f"{open_folder(job_id)}/{step_run_id(job_id, step)}"


def name_question(folder: str, before: str | None = None) -> str:
    """The folder of answers to a run's question after the segment with the hash `before`; None: the first question."""
    return f"{folder}/{before or 'first'}"


def list_removable(job: Job) -> Words:
    """The words to remove as soon as the job is over: the fetched article and the conversations with models.

    Removing a folder needs a listing, so texts that the log names are removed by name. A cancelled job is deleted.
    """
    if job.over is not None and job.over.outcome == "CANCELED":
        return list_deleted(job)
    answers = _list_answers(job)
    return Words((), answers) if answers else Words((open_folder(job.job_id),))


def list_deleted(job: Job) -> Words:
    """The words to remove of a deleted job that is over: everything.

    If a cancelled job has a webhook, its request, which has the address, stays until the message is settled. A message
    about another end was due before, and is not sent any more.
    """
    every = list_all(job)
    if job.requested is None or job.over is None or job.over.outcome != "CANCELED" or not job.requested.has_webhook:
        return every
    return Words(every.folders, tuple(each for each in every.texts if each != job.requested.input))


def _list_answers(job: Job) -> tuple[EphemeralRef, ...]:
    """All texts in the open folder, if the log names all of them; else none.

    It does if the article was sent as text, and each of the job's own steps got its answer from the first question of
    its first attempt: other texts could only belong to a later question or attempt.
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
