"""What the auditor needs from the world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from pydantic import JsonValue

from contracts.v1 import AssertionAnalysisRequested, Event, JobExtracted
from contracts.v1.parts import EphemeralRef
from contracts.v1.run import StageModel
from lifecycle.audits.cache import Analysed, Cached
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import Run
from lifecycle.audits.turns import AnalysisTurn
from services.auditor.domain import AlreadyFailed, Answered, AnswerT, Article, MaterialT, QuotedPage, RunRequest, Tools


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A job, where and when its request is stored, and when its claims were."""

    job: Job
    sequence: int
    at: datetime
    correlation: UUID
    extracted_at: datetime | None = None


class Log(Protocol):
    """The stream `JOBS`. Raises: Outage: it could not be read now."""

    async def job(self, job_id: UUID) -> LoggedJob | None:
        """The job without its runs, which do not change its cost; None if the log does not show its request yet."""

    async def is_over(self, job_id: UUID) -> bool:
        """Whether the job has ended."""

    async def run(self, run_id: UUID) -> Run: ...

    async def cached(self, assertion_id: UUID) -> Cached:
        """The newest facts about an assertion."""

    async def request_analysis(self, event: AssertionAnalysisRequested, correlation: UUID) -> bool:
        """Publish the request, unless another one came first; whether it is stored."""


class Memos(Protocol):
    """Extractions that serve later jobs of their account, for a day."""

    async def find(self, memo_id: UUID) -> JobExtracted | None:
        """The extraction of an earlier job, or None."""

    async def keep(self, memo_id: UUID, job_id: UUID) -> None:
        """Let a job's extraction serve others."""


class Keys(Protocol):
    """Which assertions have which published keys."""

    async def is_shared(self, event: AssertionAnalysisRequested) -> bool:
        """Whether another assertion has the key of a new one."""


class EndingLog(Protocol):
    """The stream `JOBS` at the end of a job. Raises: Outage: it could not be read now."""

    async def job(self, job_id: UUID) -> LoggedJob | None: ...

    async def is_over(self, job_id: UUID) -> bool: ...

    async def analysis(self, assertion_id: UUID, analysis_id: UUID) -> Analysed | None:
        """An analysis, or None if it was withdrawn."""

    async def starts(self, runs: Sequence[UUID]) -> Mapping[UUID, datetime]:
        """When the newest attempt of each run began."""


class Signer(Protocol):
    """Signs receipts."""

    def sign(self, payload: Mapping[str, JsonValue]) -> str: ...


class AnalysisLog(Protocol):
    """The stream `JOBS`, as an analysis sees it. Raises: Outage: it could not be read now."""

    async def turn(self, event: AssertionAnalysisRequested) -> AnalysisTurn:
        """The requested analysis among the others of its assertion."""

    async def run(self, run_id: UUID) -> Run: ...


class Texts(Protocol):
    """Texts that expire."""

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        """Store a text until a time; `answers` is its folder, where it is kept apart from the same text elsewhere."""

    async def get(self, ref: EphemeralRef) -> str:
        """Raises: LookupError: it has expired or was removed."""


class Articles(Protocol):
    """Articles by address."""

    async def fetch(self, address: str, accepted_at: datetime) -> Article:
        """Raises: NoArticle."""


class Evidence(Protocol):
    """Pages that a model looks up and quotes."""

    @property
    def tools(self) -> Tools: ...

    async def read(self, cited: Collection[str], looked_up: Collection[str]) -> Mapping[str, QuotedPage | None]:
        """The cited pages that were looked up, by address as cited; None where there is no page that can be named."""


class Stages(Protocol):
    """The models that the stages use now."""

    async def models(self) -> Mapping[str, StageModel]:
        """The model of each step."""


class Scores(Protocol):
    """Scores of publishers by closed epochs. Raises: Outage: they could not be read now."""

    async def closed_epoch(self) -> int:
        """The newest closed epoch, or 0 if there is none."""

    async def read(self, publishers: Collection[UUID], epoch: int) -> Mapping[UUID, float]:
        """The scores, from 0 to 100, that count in an epoch; publishers without one are left out."""


class RunsPort(Protocol):
    """Carries out runs."""

    def carry_out(
        self, wanted: RunRequest[MaterialT, AnswerT], delivery_count: int
    ) -> AsyncIterator[Event | Answered[AnswerT] | AlreadyFailed]: ...
