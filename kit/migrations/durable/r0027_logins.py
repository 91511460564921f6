"""The three roles log in themselves, and get nothing that is granted to everybody: temporary tables, large objects."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0027"
down_revision = "0020"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
