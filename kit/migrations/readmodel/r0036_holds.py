"""The curator reads how many see a post, and who asked for its investigation."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
