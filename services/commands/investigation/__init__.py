"""`openerrata investigation`: show, replay, retry or cancel one investigation."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

import click
from pydantic import BaseModel, ValidationError

from contracts.transcript import Transcript
from contracts.v1.event import OnceEvent
from contracts.v1.parts import TextRef
from kit.blob_settings import BlobMissing
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import Bus, connect
from kit.errors import Reject, Retry
from kit.history import StoredFact, read_history
from kit.publisher import BusError, PublishConflict
from kit.servers_in_use import Servers
from lifecycle.investigation import Investigation
from services.commands.investigation.comparison import Comparison
from services.commands.investigation.operator_events import NotAllowed, make_cancellation, make_retry
from services.commands.investigation.rendering import render
from services.commands.investigation.replay import replay as replay_steps
from services.commands.investigation.summary import Attempt, Step, Summary, summarize
from services.commands.investigation.transcript import render_transcript
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import clean

investigation_argument = click.argument("investigation", metavar="ID", type=click.UUID)


@click.group(cls=Group)
def command() -> None:
    """Inspect one investigation: its history, its exchange with the models, and whether a replay agrees.

    ID is the investigation's, as in its public address and in every log line about it.

    \b
    What happened, and why?        openerrata investigation show ID
    Word for word:                 openerrata investigation show ID --transcript | less -R
    Would it happen again?         openerrata investigation replay ID
    It failed; the cause is gone:  openerrata investigation retry ID
    It is no longer wanted:        openerrata investigation cancel ID
    """


@dataclass(frozen=True)
class _Loaded:
    """One investigation, with its transcripts by hash if they were requested."""

    summary: Summary
    transcripts: dict[str, str]


@command.command()
@investigation_argument
@click.option("--transcript", "with_transcripts", is_flag=True, help="Also every exchange with a model, verbatim.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def show(investigation: UUID, with_transcripts: bool, as_json: bool, data_dir: Path) -> None:
    """Show an investigation: requests, attempts, candidates, verdicts, sources, cost, result.

    It is read from the log, so it needs no database and includes what later facts overruled. A running investigation is
    shown as far as it has come.
    """
    loaded = run_on_servers(data_dir, lambda found: _load(found, investigation, with_transcripts))
    if as_json:
        click.echo(json.dumps(_as_json(loaded, with_transcripts), indent=2, default=_encode))
        return
    for line in render(loaded.summary):
        click.echo(line)
    if with_transcripts:
        for step in loaded.summary.steps:
            if step.transcript is not None:
                _print_transcript(step.transcript, _title(step), loaded.transcripts)


@command.command()
@investigation_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def replay(investigation: UUID, as_json: bool, data_dir: Path) -> None:
    """Run today's code over the recorded answers and compare the facts with the log, byte for byte.

    No provider is called, no page is fetched, nothing is stored. Exit status 1 if anything is DIFFERENT: code or record
    has changed. A step that differs and was made under earlier rules or prompts is marked OTHER RULES with the
    versions; exit status 3 if nothing else is wrong. Worker and times are not compared.
    """
    comparisons = run_on_servers(data_dir, lambda found: _replay_recorded(found, investigation))
    if as_json:
        click.echo(
            json.dumps(
                [asdict(each) | {"same": each.same, "explained": each.explained} for each in comparisons], indent=2
            )
        )
    else:
        for each in comparisons:
            _print_comparison(each)
    if not comparisons or not all(each.same or each.explained for each in comparisons):
        sys.exit(1)
    sys.exit(0 if all(each.same for each in comparisons) else 3)


@command.command()
@investigation_argument
@on_servers
def retry(investigation: UUID, data_dir: Path) -> None:
    """Request a FAILED investigation again, at the instance's expense and without a cool-down.

    It gets a new round with up to four attempts; the earlier rounds are kept.
    """
    event = run_on_servers(data_dir, lambda found: _decide(found, investigation, "retry"))
    click.echo(f"requested; follow it with `openerrata investigation show {event.key()}`")


@command.command()
@investigation_argument
@on_servers
def cancel(investigation: UUID, data_dir: Path) -> None:
    """End a pending or running investigation as FAILED, "cancelled by operator".

    No further attempt begins. A running attempt ends at its next checkpoint; what it finds is not published. `retry`
    requests the investigation again.
    """
    run_on_servers(data_dir, lambda found: _decide(found, investigation, "cancel"))
    click.echo("cancelled")


@asynccontextmanager
async def _connect(found: Servers) -> AsyncIterator[tuple[Bus, Blobs]]:
    with closing(Blobs(found.blobs)) as blobs, as_message(BusError, BlobsUnavailable, Retry, Reject):
        async with connect(found.nats_url, name="openerrata-investigation") as bus:
            yield bus, blobs


async def _read_history(bus: Bus, investigation: UUID) -> tuple[Sequence[StoredFact], Investigation]:
    past = await read_history(bus, str(investigation))
    found = Investigation.fold(past)
    if found is None:
        raise click.ClickException(f"the log has no investigation {investigation}")
    return past, found


async def _load(found: Servers, investigation: UUID, with_transcripts: bool) -> _Loaded:
    async with _connect(found) as (bus, blobs):
        _, aggregate = await _read_history(bus, investigation)
        summary = summarize(aggregate)
        texts: dict[str, str] = {}
        for step in summary.steps if with_transcripts else ():
            if step.transcript is not None:
                try:
                    texts[step.transcript.sha256] = await blobs.get_text(step.transcript)
                except (BlobMissing, UnicodeDecodeError):
                    continue
        return _Loaded(summary, texts)


async def _replay_recorded(found: Servers, investigation: UUID) -> list[Comparison]:
    async with _connect(found) as (bus, blobs):
        past, _ = await _read_history(bus, investigation)
        return [each async for each in replay_steps(past, blobs)]


async def _decide(found: Servers, investigation: UUID, wish: str) -> OnceEvent:
    async with _connect(found) as (bus, _):
        past, aggregate = await _read_history(bus, investigation)
        with as_message(NotAllowed):
            event = make_retry(aggregate) if wish == "retry" else make_cancellation(aggregate)
        try:
            await bus.publish(event, correlation=aggregate.correlation, cause=past[-1].envelope.id)
        except PublishConflict as error:
            raise click.ClickException("it changed at the same moment; look again with `show`") from error
        return event


def _print_transcript(ref: TextRef, title: str, texts: dict[str, str]) -> None:
    click.echo(f"\n{click.style(title, bold=True)}  transcript sha256 {ref.sha256}")
    text = texts.get(ref.sha256)
    if text is None:
        click.echo("not in the blob store")
        return
    try:
        transcript = Transcript.model_validate_json(text)
    except ValidationError:
        click.echo("its format is unknown")
        return
    for line in render_transcript(transcript):
        click.echo(line)


def _title(step: Step) -> str:
    return (
        f"attempt {step.number}" if isinstance(step, Attempt) else f"review of \u201c{clean(step.payload.text)}\u201d"
    )


def _print_comparison(comparison: Comparison) -> None:
    mark = click.style("same", fg="green") if comparison.same else click.style("DIFFERENT", fg="red")
    if comparison.explained:
        mark = click.style("OTHER RULES", fg="yellow")
    if comparison.note:
        mark = click.style("skipped", fg="yellow")
    click.echo(f"{mark}  {comparison.step} ({comparison.facts} fact{'' if comparison.facts == 1 else 's'})")
    if comparison.explained:
        click.echo(f"      made under {clean(comparison.made_under or '')}; differences:")
    if message := comparison.problem or comparison.note:
        click.echo(f"      {clean(message)}")
    for each in comparison.differences:
        click.echo(f"      {clean(each.where)}")
        click.echo(f"        recorded  {clean(each.recorded)}")
        click.echo(f"        replayed  {clean(each.replayed)}")


def _as_json(loaded: _Loaded, with_transcripts: bool) -> dict[str, object]:
    document: dict[str, object] = asdict(loaded.summary)
    if with_transcripts:
        document["transcripts"] = {hash_: _parse(text) for hash_, text in loaded.transcripts.items()}
    return document


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _encode(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
