"""A version may be investigated again for another reason; one run of it is the original."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Run the script beside this file."""
    op.get_bind().connection.cursor().execute(Path(__file__).with_suffix(".sql").read_text())
