"""`openerrata job`: show, cancel or forget one audit, read from the log; a job's words are never printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import click

from contracts.jobs.ids import format_job_id, parse_job_id
from contracts.topology import JOBS
from contracts.v1 import JobRequested, RunFailed
from contracts.v1.ids import step_run_id
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.errors import Reject, Retry
from kit.history import StoredFact, read_history, read_latest
from kit.publisher import BusError
from kit.servers_in_use import Servers
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT
from lifecycle.audits.words import list_all
from services.commands.shared import Group, as_message, on_servers, run_on_bus, run_on_servers

FAILURES: Final = (BusError, Retry, Reject)


@dataclass(frozen=True, slots=True)
class LoadedJob:
    """A job and its facts, in the order of the log; `requested` is the first of them."""

    job: Job
    requested: StoredFact
    request: JobRequested
    facts: Sequence[StoredFact]

    @property
    def status(self) -> str:
        """The status as the API names it."""
        if self.job.over is not None:
            return self.job.over.outcome
        return "QUEUED" if self.job.fetched is None else "RUNNING"


def _read_id(_: click.Context, __: click.Parameter, value: str) -> UUID:
    found = parse_job_id(value)
    if found is None:
        try:
            found = UUID(value)
        except ValueError:
            raise click.BadParameter("must be a job's id, as the API gives it or as a UUID") from None
    return found


job_argument = click.argument("job_id", metavar="ID", callback=_read_id)


@click.group(cls=Group)
def command() -> None:
    """Inspect one audit of an article, end it, or remove its words.

    ID is the job's, as the API gives it, or as a UUID as in log lines.

    \b
    openerrata job show ID
    openerrata job cancel ID
    openerrata job forget ID
    """


@command.command()
@job_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def show(job_id: UUID, as_json: bool, data_dir: Path) -> None:
    """Show a job: its state, claims, charge and facts, without any words."""

    loaded = run_on_bus(data_dir, "job", lambda bus: load_job(bus, job_id), *FAILURES)
    if as_json:
        click.echo(json.dumps(describe(loaded), indent=2, default=str))
        return
    for line in render(loaded):
        click.echo(line)


@command.command()
@job_argument
@on_servers
def cancel(job_id: UUID, data_dir: Path) -> None:
    """End a job as CANCELED, as its account could; it is charged for the steps that were begun."""
    run_on_bus(data_dir, "job", lambda bus: cancel_job(bus, job_id), *FAILURES)
    click.echo("canceled")


@command.command()
@job_argument
@on_servers
def forget(job_id: UUID, data_dir: Path) -> None:
    """Remove all words of a job that is over, before they expire: request, article, claims, answers and result.

    A webhook that was not received yet is not sent any more. Its facts hold no words and stay.
    """
    with as_message(*FAILURES):
        run_on_servers(data_dir, lambda found: _forget(found, job_id))
    click.echo("removed its words")


async def load_job(bus: Bus, job_id: UUID) -> LoadedJob:
    """A job with its own steps, and with the failed runs among those that it waits for.

    Raises: click.ClickException: the log has no such job. Outage: the log could not be read now.
    """
    facts = await read_history(bus, str(job_id), stream=JOBS)
    requested = next((each for each in facts if isinstance(each.event, JobRequested)), None)
    if requested is None:
        raise click.ClickException(f"the log has no job {format_job_id(job_id)} ({job_id}); is the id complete?")
    request = requested.event
    assert isinstance(request, JobRequested)
    for step in (EXTRACT, ASSESS):
        facts += await read_history(bus, str(step_run_id(job_id, step)), stream=JOBS)
    job = Job(job_id)
    for each in facts:
        job.apply(each.event)
    failed = await read_latest(bus, *(f"{RunFailed.SUBJECT}.{run}" for run in job.awaited), stream=JOBS)
    for each in failed:
        job.apply(each.event)
    return LoadedJob(job, requested, request, sorted([*facts, *failed], key=lambda each: each.sequence))


async def cancel_job(bus: Bus, job_id: UUID) -> None:
    """End a job. Raises: click.ClickException: the job is over, or the log has none."""
    loaded = await load_job(bus, job_id)
    for each in await read_latest(bus, *loaded.job.purchase_subjects(), stream=JOBS):
        loaded.job.apply(each.event)  # analyses that it requested are charged, even without a stored plan
    end = loaded.job.cancel()
    if end is None:
        raise click.ClickException(f"the job is over: {loaded.status}")
    if not await bus.publish_if_first(end, loaded.requested.envelope.correlation):
        raise click.ClickException("it ended at the same moment; look again with `show`")


async def forget_job(bus: Bus, texts: EphemeralTexts, job_id: UUID) -> None:
    """Remove all words of a job. Raises: click.ClickException: the job is not over, or the log has none."""
    loaded = await load_job(bus, job_id)
    if loaded.job.over is None:
        raise click.ClickException("the job is not over; end it with `openerrata job cancel`")
    words = list_all(loaded.job)
    for folder in words.folders:
        await texts.remove_answers(folder, loaded.request.input.until)
    for ref in words.texts:
        await texts.remove(ref)


async def _forget(found: Servers, job_id: UUID) -> None:
    async with connect(found.nats_url, name="openerrata-job") as bus:
        await forget_job(bus, EphemeralTexts(TextBucket(bus), SystemClock()), job_id)


def describe(loaded: LoadedJob) -> dict[str, object]:
    """The job as one JSON object."""
    job, request, over = loaded.job, loaded.request, loaded.job.over
    claims = job.planned.claims if job.planned is not None else ()
    return {
        "job_id": format_job_id(job.job_id),
        "uuid": str(job.job_id),
        "account_id": str(request.account_id),
        "status": loaded.status,
        "code": over.code if over is not None else None,
        "mode": request.mode,
        "requested_at": loaded.requested.envelope.occurred_at.isoformat(),
        "deadline_at": request.deadline_at.isoformat(),
        "options": request.options.model_dump(mode="json"),
        "reserved_micro_usd": request.reserved_micro_usd,
        "charged_micro_usd": over.charged_micro_usd if over is not None else None,
        "claims": [each.model_dump(mode="json") for each in claims],
        "facts": [
            {
                "sequence": each.sequence,
                "at": each.envelope.occurred_at.isoformat(),
                "event": each.event.SUBJECT,
                "key": each.event.key(),
            }
            for each in loaded.facts
        ],
    }


def render(loaded: LoadedJob) -> Sequence[str]:
    """The job in lines."""
    job, request, over = loaded.job, loaded.request, loaded.job.over
    code = f" {over.code}" if over is not None and over.code else ""
    lines = [
        f"{format_job_id(job.job_id)}  {loaded.status}{code}  {request.mode}",
        f"account   {request.account_id}",
        f"deadline  {request.deadline_at:%Y-%m-%d %H:%M:%S} UTC",
        f"reserved  ${request.reserved_micro_usd / 1_000_000:.6f}",
    ]
    if over is not None:
        lines.append(f"charged   ${over.charged_micro_usd / 1_000_000:.6f}")
    lines += [
        f"C{each.number}  {each.outcome}  {each.run_id or each.analysis_id or ''}".rstrip()
        for each in (job.planned.claims if job.planned is not None else ())
    ]
    lines += [
        f"{each.sequence:>8}  {each.envelope.occurred_at:%H:%M:%S}  {each.event.SUBJECT.removeprefix('errata.v1.')}"
        for each in loaded.facts
    ]
    return lines
