"""The desk's pages: each method returns the values for a template."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from contracts.jobs.ids import format_job_id
from lifecycle.audits.charges import compute_least
from services.gateway.cursors import cut_page
from services.gateway.desk.ports import DeskReads
from services.gateway.desk.visits import Visit
from services.gateway.jobs.credit import Ledger
from services.gateway.jobs.ports import CatalogueReads
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.reading import Jobs
from services.gateway.jobs.stages import StageSettings
from services.gateway.public.site.claims import EditView, describe_code
from services.gateway.public.site.prose import render_report
from services.gateway.public.site.rendering import Values
from services.gateway.record.desk import EditedRow, JobRow

PAGE: Final = 20
QUERY_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in its account's list."""

    row: JobRow

    @property
    def name(self) -> str:
        """The job's id as the job API writes it."""
        return format_job_id(self.row.id)

    @property
    def verdict(self) -> str | None:
        """The job's verdict in words, or None."""
        return None if self.row.overall_verdict is None else describe_code(self.row.overall_verdict)


@dataclass(frozen=True, slots=True)
class EditedLine:
    """An edited entry with its newest edit."""

    row: EditedRow

    @property
    def edit(self) -> EditView:
        """The newest edit, for its template."""
        return EditView(self.row)


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of the desk."""

    reads: DeskReads
    catalogue: CatalogueReads
    jobs: Jobs
    ledger: Ledger
    stages: StageSettings

    async def account(self, visit: Visit) -> Values:
        """The account's credit and its jobs."""
        account = visit.principal.account
        rows = await self.reads.jobs(account.account_id, visit.after(), PAGE + 1)
        credit = await self.ledger.describe(account, compute_least(await self.stages.prices()))
        shown, older = cut_page(rows, PAGE, attrgetter("created_at", "id"))
        return {"credit": credit, "jobs": [JobLine(each) for each in shown], "older": older}

    async def job(self, visit: Visit) -> Values:
        """A job of the account, with its report or why there is none."""
        name = visit.request.path_params["job_id"]
        logged = await self.jobs.find(name, visit.principal.account.account_id)
        report, shown, missing = None, None, None
        try:
            report = await self.jobs.read_report(logged)
            shown = await asyncio.to_thread(render_report, report)
        except Problem as problem:
            missing = problem.message
        job = await self.jobs.describe(logged)
        return {"it": job, "name": name, "report": shown, "markdown": report, "missing": missing}

    async def claims(self, visit: Visit) -> Values:
        """Entries that match a search, with hidden ones if the account may hide."""
        text = visit.request.query_params.get("q", "").strip()
        if len(text) > QUERY_CHARACTERS or "\0" in text:
            raise Problem("VALIDATION_ERROR", f"Please look for at most {QUERY_CHARACTERS} characters.")
        rows = await self.catalogue.page(text, visit.after(), PAGE + 1, hidden=visit.principal.may("hide"))
        shown, older = cut_page(rows, PAGE, attrgetter("updated_at", "id"))
        return {"q": text, "claims": shown, "older": older}

    async def claim(self, visit: Visit) -> Values:
        """An entry with the forms that change it."""
        contents = await self.catalogue.one(visit.id("entry_id"), hidden=visit.principal.may("hide"))
        if contents is None:
            raise Problem("NOT_FOUND")
        return {
            "it": contents.row,
            "stale": [describe_code(each).lower() for each in contents.row.stale],
            "edits": [EditView(each) for each in contents.edits],
        }

    async def flags(self, visit: Visit) -> Values:
        """Open objections, oldest first."""
        rows = await self.catalogue.open_flags(visit.after(), PAGE + 1)
        shown, older = cut_page(rows, PAGE, attrgetter("created_at", "id"))
        return {"flags": shown, "older": older}

    async def edits(self, visit: Visit) -> Values:
        """The newest edit of each edited entry, newest first."""
        rows = await self.reads.edited(visit.after(), PAGE + 1)
        shown, older = cut_page(rows, PAGE, attrgetter("updated_at", "entry_id"))
        return {"edits": [EditedLine(each) for each in shown], "older": older}

    async def appeals(self, visit: Visit) -> Values:
        """Open appeals, oldest first."""
        rows = await self.reads.appeals(visit.after(), PAGE + 1)
        shown, older = cut_page(rows, PAGE, attrgetter("opened_at", "id"))
        return {"appeals": shown, "older": older}
