"""`openerrata claims`: what code makes of a sentence, what the cache has for it, how often verdicts are right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import UUID

import click
from pydantic import JsonValue
from sqlalchemy import select, text

from analyses.claims.anchor import find_anchor
from analyses.claims.guard import Guard, make_guard
from analyses.claims.normalise import NORMATIVE, VERSIONS, make_key
from analyses.claims.volatility import Volatility, classify
from contracts.readmodel.jobs import run_attempt
from contracts.v1 import MetricSampled
from contracts.v1.ids import assertion_id
from contracts.v1.job import AuditOptions
from kit.bus import Bus, connect
from kit.clock import Clock, SystemClock
from kit.database import Database, migrate
from kit.publisher import BusError
from kit.servers_in_use import Servers
from lifecycle.audits.cache import Asked, Cached, Hit, Join, Outcome, Unusable, look, shape_of
from lifecycle.audits.quality import CORRECTNESS, name_maker
from services.auditor.adapters import EventLog
from services.commands.database import open_database, open_tables
from services.commands.shared import Group, as_message, on_servers, run_on_servers
from services.commands.terminal import clean

_SAMPLES: Final = text("SELECT text FROM readmodel.assertion_sample WHERE assertion_id = :id ORDER BY said_at DESC")
_HOUR: Final = "%Y-%m-%dT%H"
_SHARING: Final = text("SELECT count(*) FROM readmodel.assertion WHERE published_key = :key AND id <> :id")


@dataclass(frozen=True, slots=True)
class Probed:
    """A sentence as the cache sees it.

    Shapes: `assertion` is None if nothing is left of the sentence after normalisation. `cache` is the outcome of the
    look-up for a job with default options; `shared_with` counts other assertions with the same key; `samples` are
    articles' wordings.
    """

    canonical: dict[str, str]
    key: str | None
    guard: Guard
    volatility: str
    time_anchor: str
    assertion: UUID | None
    cache: str
    analysed_at: datetime | None = None
    rollup: str | None = None
    shared_with: int = 0
    samples: tuple[str, ...] = ()


@click.group(cls=Group)
def command() -> None:
    """See what code makes of a sentence: its cache key, what keeps it apart from others, and whether it is cached.

    TEXT is the sentence, as an article words it.

    \b
    openerrata claims probe "Rents rose 3.5% last month."
    """


@command.command()
@click.argument("text")
@click.option("--language", default="en", show_default=True, help="The article's language, e.g. en.")
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    help='What "yesterday" in the sentence refers to, e.g. 2026-12-01; today without it.',
)
@click.option(
    "--hint", type=click.Choice([each.value for each in Volatility]), help="A model's hint of how fast it changes."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def probe(text: str, language: str, day: datetime | None, hint: str | None, as_json: bool, data_dir: Path) -> None:
    """Show the canonical form, key, guard, class and time anchor of a sentence, and what the cache has for it."""
    probed = run_on_servers(data_dir, lambda found: _probe(found, text, language, day, hint))
    if as_json:
        click.echo(json.dumps(asdict(probed) | {"guard": probed.guard._asdict()}, indent=2, default=str))
        return
    for name, value in render(probed):
        click.echo(f"{name:<15} {value}".rstrip())


async def _probe(found: Servers, sentence: str, language: str, day: datetime | None, hint: str | None) -> Probed:
    await migrate(found.database_url)
    async with (
        connect(found.nats_url, name="openerrata-claims") as bus,
        open_database(found.database_url, "reader") as db,
    ):
        return await probe_claim(bus, db, SystemClock(), sentence, language, day, hint)


async def probe_claim(
    bus: Bus, database: Database, clock: Clock, sentence: str, language: str, day: datetime | None, hint: str | None
) -> Probed:
    """Look a sentence up as a job would if it were accepted now, or on `day`."""
    reference_day = (day or clock.now().astimezone(UTC)).date()
    anchor = find_anchor(sentence, language, reference_day, None)
    guard, volatility = make_guard(sentence, anchor), classify(sentence, language, hint, reference_day)
    canonical = {version: normalise(sentence, language) for version, normalise in VERSIONS.items()}
    key = make_key(sentence, language)
    assertion: UUID | None = None
    cached = Cached()
    samples: tuple[str, ...] = ()
    sharing = 0
    if canonical[NORMATIVE]:
        hashed = sha256(canonical[NORMATIVE].encode()).hexdigest()
        guarded = sha256(guard.canonical_json().encode()).hexdigest()
        assertion = assertion_id(NORMATIVE, language, hashed, guarded)
        cached = await EventLog(bus).cached(assertion)
        async with database.connect() as connection:
            samples = tuple((await connection.execute(_SAMPLES, {"id": assertion})).scalars())
            sharing = (await connection.execute(_SHARING, {"id": assertion, "key": key})).scalar_one()
    asked = Asked(assertion, UUID(int=0), 0, shape_of(AuditOptions()), volatility.value, "PREFER_CACHE", may_buy=False)
    analysed = cached.analysed
    return Probed(
        canonical=canonical,
        key=key,
        guard=guard,
        volatility=volatility.value,
        time_anchor=anchor,
        assertion=assertion,
        cache=_name(look(clock.now(), asked, cached)),
        analysed_at=analysed.at if analysed else None,
        rollup=analysed.event.rollup if analysed else None,
        shared_with=sharing,
        samples=samples,
    )


def _name(outcome: Outcome) -> str:
    match outcome:
        case Hit(stale=stale):
            return "stale" if stale else "hit"
        case Join():
            return "under way"
        case Unusable():
            return "no claim"
        case _:
            return "miss"


def render(probed: Probed) -> list[tuple[str, str]]:
    """The lines to print, as name and value; samples come from articles, so they are cleaned."""
    guard: JsonValue = json.loads(probed.guard.canonical_json())
    lines = [(version, words or "-") for version, words in probed.canonical.items()]
    lines += [
        ("key", probed.key or "-"),
        ("guard", json.dumps(guard, ensure_ascii=False)),
        ("class", probed.volatility),
        ("time anchor", probed.time_anchor or "-"),
        ("assertion", str(probed.assertion or "-")),
        ("cache", probed.cache),
    ]
    if probed.analysed_at is not None:
        lines.append(("analysed", f"{probed.analysed_at:%Y-%m-%d %H:%M} {probed.rollup}"))
    lines.append(("shares its key", f"with {probed.shared_with} other assertions"))
    return lines + [("sample", clean(each)) for each in probed.samples]


@dataclass(frozen=True, slots=True)
class Measured:
    """Verdicts that were judged, and how many of them were right."""

    right: int
    of: int


@command.command()
@click.argument("analysis", type=click.UUID, metavar="ID")
@click.option("--right", required=True, type=click.IntRange(0), help="How many claims got a right verdict.")
@click.option("--of", required=True, type=click.IntRange(1), help="How many claims with known answers were judged.")
@on_servers
def measured(analysis: UUID, right: int, of: int, data_dir: Path) -> None:
    """Record how often verdicts by the model, instructions and rules of the analysis ID are right.

    Claim pages show it beside each such verdict, with its bound, number and date, instead of "not measured".
    """
    if right > of:
        raise click.UsageError("--right is at most --of")

    async def main(found: Servers) -> None:
        async with (
            open_tables(found, of="tables") as database,
            connect(found.nats_url, name="openerrata-claims") as bus,
        ):
            await publish_measure(bus, database, SystemClock(), analysis, Measured(right, of))

    with as_message(BusError):
        run_on_servers(data_dir, main)
    click.echo(f"{right} of {of}: claim pages with verdicts like that of {analysis} say so from now on")


async def publish_measure(bus: Bus, database: Database, clock: Clock, analysis: UUID, found: Measured) -> None:
    """Publish a measure. Raises: click.ClickException: the analysis is unknown, or was measured this hour. BusError."""
    run_ = run_attempt.c
    made = select(run_.model, run_.prompt_hash, run_.rules).where(run_.run_id == analysis, run_.outcome == "SUCCEEDED")
    async with database.connect() as connection:
        row = (await connection.execute(made)).first()
    if row is None:
        raise click.ClickException(f"no analysis {analysis} is known")
    event = MetricSampled(
        slot=clock.now().strftime(_HOUR),
        type=CORRECTNESS,
        category=name_maker(*row),
        value=found.right / found.of,
        n=found.of,
    )
    if not await bus.publish_if_first(event, clock.new_id()):
        raise click.ClickException("it was measured in this hour already")
