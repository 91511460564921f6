"""The daily share of runs for appeals, and whose appeals come first."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import click

from kit.clock import SystemClock
from services.projector.store.load import Connection
from services.selector.domain import start_of_day
from services.selector.settings import SelectorSettings

_RUNS: Final = """
    SELECT count(DISTINCT i.id) FROM readmodel.investigation_round r
    JOIN readmodel.investigation i ON i.id = r.investigation_id
    WHERE r.requested_at >= %s AND i.origin = 'APPEAL' AND i.origin_id <> %s"""
_AUTHORS_WAITING: Final = """
    SELECT count(*) FROM readmodel.appeal a WHERE a.outcome IS NULL AND a.proof = 'PROVEN' AND NOT EXISTS (
        SELECT FROM readmodel.investigation o JOIN readmodel.investigation r ON r.post_version_id = o.post_version_id
            AND r.analysis = o.analysis AND r.origin = 'APPEAL' AND r.origin_id = a.id
        WHERE o.id = a.investigation_id)"""
SHARE: Final = 10
"""Appeals get one run for this many that the selector may request; at least one a day."""


async def check_share(db: Connection, appeal: UUID, *, is_of_author: bool) -> None:
    """Check that a run is left. Raises: click.ClickException: today's are used up, or authors wait for them."""
    most = max(1, SelectorSettings().runs_per_day // SHARE)
    row = await (await db.execute(_RUNS, (start_of_day(SystemClock().now()), appeal))).fetchone()
    used = 0 if row is None else row[0]
    if used >= most:
        raise click.ClickException(
            f"appeals have had their runs of this UTC day, {most}; a tenth of OPENERRATA_SELECTOR_RUNS_PER_DAY"
        )
    waiting = None if is_of_author else await (await db.execute(_AUTHORS_WAITING)).fetchone()
    if waiting is not None and waiting[0] >= most - used:
        raise click.ClickException(
            f"authors' appeals come first, and {waiting[0]} wait for the {most - used} runs left of this UTC day; "
            "investigate or decide those first: `openerrata appeal list`"
        )
