"""Candidates bear their platform and whether their site confirmed them; what nobody vouches for waits."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0024"
down_revision = "0021"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
