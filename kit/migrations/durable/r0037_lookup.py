"""What the notary has put into the buckets of private look-ups, and what is to be put there."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
