"""`openerrata budget`: today's cost by requester and payer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kit.clock import SystemClock
from kit.database import migrate
from kit.settings import load
from services.commands.database import open_database
from services.commands.shared import on_servers, run_on_servers
from services.commands.terminal import format_table
from services.selector.adapters import Spending, SqlReads
from services.selector.domain import Spent, format_usd, start_of_day
from services.selector.settings import SelectorSettings

PAYERS: Final = {
    ("SELECTOR", "INSTANCE"): "selector",
    ("SELECTOR", "USER"): "selector, on readers' own keys",
    ("READER", "INSTANCE"): "readers with an instance key",
    ("READER", "USER"): "readers on their own keys",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@on_servers
def command(as_json: bool, data_dir: Path) -> None:
    """Show today's runs and cost (UTC), and the budget of the selector.

    \b
    openerrata budget --json
    """
    settings = load(SelectorSettings)
    spending, spent = run_on_servers(data_dir, lambda found: _read(found.database_url, settings.analysis))
    if as_json:
        click.echo(json.dumps(_as_json(spending, spent, settings), indent=2))
    else:
        _print(spending, spent, settings)


async def _read(url: str, analysis: str) -> tuple[Sequence[Spending], Spent]:
    await migrate(url)
    async with open_database(url, "reader") as database:
        since, reads = start_of_day(SystemClock().now()), SqlReads(database)
        return await reads.spending(since, analysis), await reads.spent(since, analysis)


def _print(spending: Sequence[Spending], spent: Spent, settings: SelectorSettings) -> None:
    rows = [
        (
            PAYERS.get((each.requested_by, each.key_source), f"{each.requested_by}, {each.key_source}"),
            f"{each.runs:,}",
            f"{each.under_way:,}",
            f"{each.tokens:,}",
            format_usd(each.micro_usd) + (f" and {each.unpriced} unpriced" if each.unpriced else ""),
        )
        for each in spending
    ]
    paid = sum(each.micro_usd for each in spending if each.key_source == "INSTANCE")
    rows.append(("the instance pays", "", "", "", format_usd(paid)))
    click.echo(format_table(("today (UTC)", "runs", "under way", "tokens", "money"), rows, right=(1, 2, 3, 4)))
    budget = settings.budget
    limit = "" if budget.micro_usd is None else f" of {format_usd(budget.micro_usd)}"
    usual = "" if spent.typical_micro_usd is None else f"; a run usually costs {format_usd(spent.typical_micro_usd)}"
    click.echo(
        f"\nselector: {spent.runs:,} of {budget.runs:,} runs, {format_usd(spent.micro_usd)}{limit}{usual}"
        if budget.runs
        else "\nselector: switched off"
    )


def _as_json(spending: Sequence[Spending], spent: Spent, settings: SelectorSettings) -> dict[str, object]:
    return {
        "today": [
            {
                "requested_by": each.requested_by,
                "key_source": each.key_source,
                "runs": each.runs,
                "under_way": each.under_way,
                "tokens": each.tokens,
                "cost_micro_usd": each.micro_usd,
                "unpriced_steps": each.unpriced,
            }
            for each in spending
        ],
        "selector": {
            "runs": spent.runs,
            "runs_per_day": settings.budget.runs,
            "cost_micro_usd": spent.micro_usd,
            "cost_micro_usd_per_day": settings.budget.micro_usd,
            "typical_run_micro_usd": spent.typical_micro_usd,
        },
    }
