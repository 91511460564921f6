"""Runs that may be lost are looked for among the runs: of any version, and however long the text."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
