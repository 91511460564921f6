"""What an author says in public beside a finding."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
