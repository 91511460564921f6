"""What became of published findings; documents follow them."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
