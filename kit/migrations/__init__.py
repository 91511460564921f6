"""Schema changes, in two histories: `durable` (ledger, operator, roles) and `readmodel`.

They are separate because a rebuild also creates the read model from nothing, beside the live one: its scripts name no
schema and run wherever the search path points. Revisions are frozen; a change of `contracts.readmodel` is a new one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

History = Literal["durable", "readmodel"]

FOLDER: Final = Path(__file__).parent
HEADS: Final[dict[History, str]] = {"durable": "0001", "readmodel": "0001"}
"""The newest revision of each history, so that an up-to-date database is recognised without loading any script."""
