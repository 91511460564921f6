"""A fact of the ledger may lose its body to an erasure that stands in the ledger itself, and change in no other way."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0008"
down_revision = "0001"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
