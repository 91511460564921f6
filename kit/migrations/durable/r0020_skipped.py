"""What an operator tells the projector to leave out survives every rebuild, as the ledger does."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0020"
down_revision = "0008"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
