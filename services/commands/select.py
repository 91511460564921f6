"""`openerrata select`: one round of selection, or a preview of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click

from kit.bus import connect
from kit.clock import SystemClock
from kit.database import migrate
from kit.leader import Leadership
from kit.servers_in_use import Servers
from kit.settings import load
from services.commands.database import open_database
from services.commands.shared import on_servers, run_on_servers
from services.commands.terminal import format_table
from services.selector.adapters import BusLog, SqlReads
from services.selector.app import JOB
from services.selector.domain import Pick, format_usd
from services.selector.handlers import Selection, Selector
from services.selector.settings import SelectorSettings

REASONS: Final = {
    "waiting": "for a later round or day",
    "under way": "under way",
    "investigated": "investigated in their newest version",
    "failed": "failed; only a reader's request repeats that",
    "unconfirmed": "neither their site nor enough readers vouch for the text",
    "too long": "longer than 10,000 words",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be requested, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def command(dry_run: bool, as_json: bool, data_dir: Path) -> None:
    """Request investigations of the next posts within today's budget, or preview them with --dry-run.

    Does nothing while a running selector leads: it will request them itself.

    \b
    openerrata select --dry-run
    """
    selection, requested, others = run_on_servers(data_dir, lambda found: _select(found, dry_run))
    if as_json:
        click.echo(json.dumps(_as_json(selection, requested, others), indent=2))
    else:
        _print(selection, requested, others)


async def _select(found: Servers, dry_run: bool) -> tuple[Selection, int | None, Mapping[str, int]]:
    await migrate(found.database_url)
    settings, clock = load(SelectorSettings), SystemClock()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(found.database_url, "reader"))
        bus = await stack.enter_async_context(connect(found.nats_url, name="openerrata-select"))
        leadership = Leadership(bus, JOB, f"command-{clock.new_id()}")
        reads = SqlReads(database)
        selector = Selector(
            reads,
            BusLog(bus),
            leadership,
            clock,
            analysis=settings.analysis,
            budget=settings.budget,
            batch=settings.batch,
            patience_s=settings.patience_s,
        )
        if dry_run:
            selection, requested = await selector.plan(), None
        else:
            stack.push_async_callback(leadership.release)
            if not await leadership.renew():
                raise click.ClickException("a running selector leads and will request them; see --dry-run")
            selection = await selector.plan()
            requested = await selector.publish(selection)
        return selection, requested, _count_others(await reads.survey(settings.analysis), selection, dry_run)


def _count_others(survey: Mapping[str, int], selection: Selection, dry_run: bool) -> Mapping[str, int]:
    """The other posts by reason; without those that a dry run would request."""
    others = dict(survey)
    if dry_run:
        for pick in selection.picks:
            reason = "under way" if pick.why == "lost" else "waiting"
            others[reason] = max(0, others.get(reason, 0) - 1)
    return {reason: others[reason] for reason in REASONS if others.get(reason)}


def _print(selection: Selection, requested: int | None, others: Mapping[str, int]) -> None:
    spent, allowed = selection.spent, selection.allowance
    money = f" and {format_usd(spent.micro_usd)} spent" + (
        f", {spent.unpriced} steps unpriced" if spent.unpriced else ""
    )
    click.echo(f"today: {spent.runs} runs taken{money}, {spent.under_way} under way")
    click.echo(f"now:   {allowed.runs} more may be taken (limit: {allowed.limit})")
    if selection.picks:
        verb = "would take" if requested is None else f"took {requested} of"
        click.echo(f"\n{verb}, in this order:")
        rows = [(str(n), *_row(pick)) for n, pick in enumerate(selection.picks, 1)]
        click.echo(format_table(("", "score", "words", "site", "why", "post"), rows, right=(0, 1, 2)))
    else:
        click.echo("\nnothing to take" if allowed.runs else "\nthe budget is used up")
    if selection.abandoned:
        click.echo(f"\n{'would end' if requested is None else 'ended'} as failed, lost too often:")
        click.echo(
            format_table((), [(str(each.event.investigation_id), each.candidate.url) for each in selection.abandoned])
        )
    if others:
        click.echo("\nnot taken:")
        click.echo(format_table((), [(f"{posts:,}", REASONS[reason]) for reason, posts in others.items()], right=(0,)))


def _row(pick: Pick) -> tuple[str, ...]:
    candidate = pick.candidate
    why = pick.why if pick.request.round == 1 else f"{pick.why}, round {pick.request.round}"
    return f"{candidate.score:,}", f"{candidate.words:,}", candidate.platform, why, candidate.url


def _as_json(selection: Selection, requested: int | None, others: Mapping[str, int]) -> dict[str, object]:
    spent, allowed = selection.spent, selection.allowance
    return {
        "dry_run": requested is None,
        "requested": requested,
        "today": {
            "runs": spent.runs,
            "under_way": spent.under_way,
            "cost_micro_usd": spent.micro_usd,
            "unpriced_steps": spent.unpriced,
            "typical_run_micro_usd": spent.typical_micro_usd,
        },
        "allowed": {"runs": allowed.runs, "limit": allowed.limit},
        "take": [
            {
                "investigation_id": str(pick.request.investigation_id),
                "version_id": str(pick.request.version_id),
                "post_id": str(pick.request.post_id),
                "platform": pick.candidate.platform,
                "url": pick.candidate.url,
                "score": pick.candidate.score,
                "words": pick.candidate.words,
                "round": pick.request.round,
                "why": pick.why,
            }
            for pick in selection.picks
        ],
        "give_up": [str(each.event.investigation_id) for each in selection.abandoned],
        "others": dict(others),
    }
