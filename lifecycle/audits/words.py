"""Which words of a job are removed when it is over.

Texts lie under their hash, so the same article would be one text for two jobs. A job's article therefore lies in a
folder of its own, as the answers of its runs do, and removing one job's words leaves another's.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from contracts.v1.ids import step_run_id
from contracts.v1.parts import EphemeralRef
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one job: whole folders of answers, and single texts that no other job has."""

    folders: tuple[str, ...]
    texts: tuple[EphemeralRef, ...] = ()


def text_folder(job_id: UUID) -> str:
    """The folder of the article's text."""
    return f"{job_id}/text"


def article_folder(job_id: UUID) -> str:
    """The folder of what the article's page says of itself."""
    return f"{job_id}/article"


def list_removable(job: Job) -> Words:
    """What is removed as soon as the job is over: the article's text and what was said to models and by them.

    Of a cancelled job everything is removed. Only where a webhook is still to be sent, its address stays, in the
    request.
    """
    if job.over is None or job.over.outcome != "CANCELED":
        return Words((text_folder(job.job_id), *_list_runs(job.job_id)))
    every = list_all(job)
    if job.requested is not None and job.requested.has_webhook:
        return Words(every.folders, tuple(each for each in every.texts if each != job.requested.input))
    return every


def list_all(job: Job) -> Words:
    """All words of a job."""
    texts: list[EphemeralRef | None] = []
    if job.requested is not None:
        texts.append(job.requested.input)
    if job.extracted is not None:
        texts.append(job.extracted.extraction)
    if job.over is not None:
        texts.append(job.over.result)
    return Words((str(job.job_id), *_list_runs(job.job_id)), tuple(each for each in texts if each is not None))


def _list_runs(job_id: UUID) -> tuple[str, ...]:
    return tuple(str(step_run_id(job_id, step)) for step in (EXTRACT, ASSESS))
