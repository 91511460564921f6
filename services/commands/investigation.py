"""`openerrata investigation`: what happened to one, whether it would happen again, and what an operator may change."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import click
from pydantic import ValidationError

from contracts.transcript import Transcript
from contracts.v1.event import OnceEvent
from contracts.v1.parts import TextRef
from kit.blobs import BlobMissing, Blobs, BlobsUnavailable
from kit.bus import AlreadyThere, Bus, BusError, connect
from kit.errors import Reject, Retry
from kit.history import Past, history
from kit.surroundings import Surroundings
from lifecycle.investigation import Investigation
from services.commands.comparing import Compared
from services.commands.decisions import Refused, again, cancelled
from services.commands.exchange import exchanged
from services.commands.replaying import replay as replayed
from services.commands.shared import Group, data_dir_option, plain_errors, run, servers
from services.commands.story import Attempt, Story, story
from services.commands.telling import plain, told

investigation_argument = click.argument("investigation", metavar="ID", type=click.UUID)


@click.group(cls=Group)
def command() -> None:
    """Look into one investigation: its story, its exchange with the models, and whether it can be told again.

    ID is the investigation's, as it stands in its public address and in every log line about it.

    \b
    What happened, and why?        openerrata investigation show ID
    Word for word:                 openerrata investigation show ID --transcript | less -R
    Would it happen again?         openerrata investigation replay ID
    It failed; the cause is gone:  openerrata investigation retry ID
    Nobody shall wait for it:      openerrata investigation cancel ID
    """


@dataclass(frozen=True)
class _Read:
    """One investigation as the log has it, with the words of its transcripts where they were asked for."""

    story: Story
    transcripts: dict[str, str]


@command.command()
@investigation_argument
@click.option("--transcript", "with_words", is_flag=True, help="Every exchange with a model too, word for word.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_dir_option
@plain_errors
def show(investigation: UUID, with_words: bool, as_json: bool, data_dir: Path) -> None:
    """Tell the story of an investigation: requests, attempts, candidates, verdicts, sources, money, result.

    It is read from the log, so it is there while the database is not, and holds what later facts overruled. A run that
    is under way is shown as far as it is.
    """
    with servers(data_dir, quieter="error") as found:
        read = run(_read(found, investigation, with_words))
    if as_json:
        click.echo(json.dumps(_as_json(read, with_words), indent=2, default=_plain_json))
        return
    for line in told(read.story):
        click.echo(line)
    if with_words:
        for step in read.story.steps:
            if step.transcript is not None:
                _say(step.transcript, _title(step), read.transcripts)


@command.command()
@investigation_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_dir_option
@plain_errors
def replay(investigation: UUID, as_json: bool, data_dir: Path) -> None:
    """Run today's code over the recorded answers and compare the facts with the log, byte for byte.

    No provider is asked, no page is fetched, nothing is stored. Exit status 1 if anything is DIFFERENT: the code or the
    record have changed since. What was made under earlier rules or prompts of ours, and differs, is marked OTHER RULES
    with the versions, since it can no longer be shown to be the same; exit status 3 if nothing else is wrong. Who ran
    it and when is not compared.
    """
    with servers(data_dir, quieter="error") as found:
        compared = run(_replay(found, investigation))
    if as_json:
        click.echo(
            json.dumps([asdict(each) | {"same": each.same, "explained": each.explained} for each in compared], indent=2)
        )
    else:
        for each in compared:
            _show_compared(each)
    if not compared or not all(each.same or each.explained for each in compared):
        sys.exit(1)
    sys.exit(0 if all(each.same for each in compared) else 3)


@command.command()
@investigation_argument
@data_dir_option
@plain_errors
def retry(investigation: UUID, data_dir: Path) -> None:
    """Ask for a FAILED investigation once more, at the instance's expense and without any cool-down.

    It becomes a new round with up to four attempts; everything of the earlier rounds is kept.
    """
    with servers(data_dir, quieter="error") as found:
        event = run(_decide(found, investigation, "retry"))
    click.echo(f"requested; follow it with `openerrata investigation show {event.key()}`")


@command.command()
@investigation_argument
@data_dir_option
@plain_errors
def cancel(investigation: UUID, data_dir: Path) -> None:
    """End an investigation that is waiting or under way, as FAILED and "cancelled by operator".

    Nobody waits for it any longer and no further attempt begins. An attempt that a worker is busy with runs to its end
    and is paid for, but what it finds is not published. `retry` takes it up again.
    """
    with servers(data_dir, quieter="error") as found:
        run(_decide(found, investigation, "cancel"))
    click.echo("cancelled")


@asynccontextmanager
async def _connected(found: Surroundings) -> AsyncIterator[tuple[Bus, Blobs]]:
    blobs = Blobs(found.blobs)
    try:
        async with connect(found.nats_url, name="openerrata-investigation") as bus:
            yield bus, blobs
    except (BusError, BlobsUnavailable, Retry, Reject) as error:
        raise click.ClickException(str(error)) from error
    finally:
        blobs.close()


async def _past(bus: Bus, investigation: UUID) -> tuple[Sequence[Past], Investigation]:
    past = await history(bus, str(investigation))
    found = Investigation.of(past)
    if found is None:
        raise click.ClickException(f"the log knows no investigation {investigation}")
    return past, found


async def _read(found: Surroundings, investigation: UUID, with_words: bool) -> _Read:
    async with _connected(found) as (bus, blobs):
        _, known = await _past(bus, investigation)
        whole = story(known)
        texts: dict[str, str] = {}
        for step in whole.steps if with_words else ():
            if step.transcript is not None:
                try:
                    texts[step.transcript.sha256] = await blobs.get_text(step.transcript)
                except (BlobMissing, UnicodeDecodeError):
                    continue
        return _Read(whole, texts)


async def _replay(found: Surroundings, investigation: UUID) -> list[Compared]:
    async with _connected(found) as (bus, blobs):
        past, _ = await _past(bus, investigation)
        return [each async for each in replayed(past, blobs)]


async def _decide(found: Surroundings, investigation: UUID, wish: str) -> OnceEvent:
    async with _connected(found) as (bus, _):
        past, known = await _past(bus, investigation)
        try:
            event = again(known) if wish == "retry" else cancelled(known)
            await bus.publish(event, correlation=known.correlation, cause=past[-1].envelope.id)
        except Refused as refusal:
            raise click.ClickException(str(refusal)) from refusal
        except AlreadyThere as error:
            raise click.ClickException("something happened to it in this moment; look again with `show`") from error
        return event


def _say(ref: TextRef, title: str, texts: dict[str, str]) -> None:
    click.echo(f"\n{click.style(title, bold=True)}  transcript sha256 {ref.sha256}")
    text = texts.get(ref.sha256)
    if text is None:
        click.echo("the blob store does not hold it")
        return
    try:
        transcript = Transcript.model_validate_json(text)
    except ValidationError:
        click.echo("it is of a form that is not known here")
        return
    for line in exchanged(transcript):
        click.echo(line)


def _title(step: Any) -> str:
    return (
        f"attempt {step.number}" if isinstance(step, Attempt) else f"review of \u201c{plain(step.payload.text)}\u201d"
    )


def _show_compared(compared: Compared) -> None:
    mark = click.style("same", fg="green") if compared.same else click.style("DIFFERENT", fg="red")
    if compared.explained:
        mark = click.style("OTHER RULES", fg="yellow")
    if compared.note:
        mark = click.style("left out", fg="yellow")
    click.echo(f"{mark}  {compared.step} ({compared.facts} fact{'' if compared.facts == 1 else 's'})")
    if compared.explained:
        click.echo(f"      made under {plain(compared.made_under or '')}; what is decided otherwise today:")
    if said := compared.problem or compared.note:
        click.echo(f"      {plain(said)}")
    for each in compared.differences:
        click.echo(f"      {plain(each.where)}")
        click.echo(f"        recorded  {plain(each.recorded)}")
        click.echo(f"        replayed  {plain(each.replayed)}")


def _as_json(read: _Read, with_words: bool) -> dict[str, Any]:
    whole = asdict(read.story)
    if with_words:
        whole["transcripts"] = {hash_: _parsed(text) for hash_, text in read.transcripts.items()}
    return whole


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain_json(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
