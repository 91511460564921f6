"""Answers that have more than one shape."""

from __future__ import annotations

import httpx

from openerrata_client.documents import Answer
from openerrata_client.types import CacheOnlyResult, FullResult, JobAccepted, JobFinished, JobRepeated


class JobAnswer(Answer):
    """The fields that show which shape an answer has."""

    status: str | None = None
    idempotent: bool = False


def read_accepted(answer: httpx.Response) -> JobAccepted | JobFinished | JobRepeated:
    """What `/v1/analyze` answered: a new job, one that ended meanwhile, or the job of an earlier try."""
    if answer.status_code == 202:
        return JobAccepted.read(answer.content)
    is_repeated = JobAnswer.read(answer.content).idempotent
    return (JobRepeated if is_repeated else JobFinished).read(answer.content)


def read_result(body: bytes) -> FullResult | CacheOnlyResult:
    """What `…/result` answered."""
    is_cached = JobAnswer.read(body).status == "cache_only_mode"
    return CacheOnlyResult.read(body) if is_cached else FullResult.read(body)
