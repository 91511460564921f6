"""What an attempt has used grows while the attempt goes on."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
