"""`openerrata budget`: what today has cost, by who asked and who paid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kit.clock import SystemClock
from kit.database import Database, migrate
from kit.settings import load
from services.commands.shared import data_dir_option, plain_errors, run, servers
from services.commands.tables import table
from services.selector.adapters import Spending, SqlReads
from services.selector.domain import Spent, dollars, midnight
from services.selector.settings import SelectorSettings

WHO: Final = {
    ("SELECTOR", "INSTANCE"): "selector",
    ("SELECTOR", "USER"): "selector, again on readers' own keys",
    ("READER", "INSTANCE"): "readers with an instance key",
    ("READER", "USER"): "readers on their own keys",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_dir_option
@plain_errors
def command(as_json: bool, data_dir: Path) -> None:
    """Show today's runs and money (UTC), and what the selector may still spend.

    \b
    openerrata budget --json
    """
    settings = load(SelectorSettings)
    with servers(data_dir, quieter="error") as found:
        spending, spent = run(_read(found.database_url, settings.analysis))
    if as_json:
        click.echo(json.dumps(_as_json(spending, spent, settings), indent=2))
    else:
        _show(spending, spent, settings)


async def _read(url: str, analysis: str) -> tuple[Sequence[Spending], Spent]:
    await migrate(url)
    database = Database(url, role="reader")
    try:
        since, reads = midnight(SystemClock().now()), SqlReads(database)
        return await reads.spending(since, analysis), await reads.spent(since, analysis)
    finally:
        await database.close()


def _show(spending: Sequence[Spending], spent: Spent, settings: SelectorSettings) -> None:
    rows = [
        (
            WHO.get((each.requested_by, each.key_source), f"{each.requested_by}, {each.key_source}"),
            f"{each.runs:,}",
            f"{each.under_way:,}",
            f"{each.tokens:,}",
            dollars(each.micro_usd) + (f" and {each.unpriced} unpriced" if each.unpriced else ""),
        )
        for each in spending
    ]
    paid = sum(each.micro_usd for each in spending if each.key_source == "INSTANCE")
    rows.append(("the instance pays", "", "", "", dollars(paid)))
    click.echo(table(("today (UTC)", "runs", "under way", "tokens", "money"), rows, right=(1, 2, 3, 4)))
    budget = settings.budget
    limit = "" if budget.micro_usd is None else f" of {dollars(budget.micro_usd)}"
    usual = "" if spent.typical_micro_usd is None else f"; a run usually costs {dollars(spent.typical_micro_usd)}"
    click.echo(
        f"\nselector: {spent.runs:,} of {budget.runs:,} runs, {dollars(spent.micro_usd)}{limit}{usual}"
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
