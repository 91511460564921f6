"""Marks posts and days whose private look-ups have to be built again, and lets the notary read what they hold."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
