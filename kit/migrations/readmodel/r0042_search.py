"""Search over one text index and the order of time; counts without triggers."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
