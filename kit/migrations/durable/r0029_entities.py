"""Erasures of jobs, assertions and accounts take bodies out of the ledger as those of posts do."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
