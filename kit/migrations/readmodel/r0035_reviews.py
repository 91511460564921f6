"""What people outside say of published findings, and an index for what gates refused lately."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
