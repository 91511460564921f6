"""Lists of controls, kept in a folder that only the curator's user can read, and the request of some each day.

The hash of a list is in the log before any of its posts is investigated; the list itself is in no event and no table
until it is opened.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import UUID

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from analyses.fact_check import FactCheck
from contracts.v1 import InvestigationRequested
from contracts.v1.control import ControlSalt, commit_to
from contracts.v1.ids import control_batch_id, investigation_id
from kit.clock import Clock
from services.curator.ports import Log
from services.curator.record.controls import SqlControls

SALT_BYTES: Final = 32
DAY: Final = timedelta(days=1)

log = structlog.get_logger(__name__)


class BadList(Exception):
    """A file of the folder is not a list of controls, or was altered; the message names the file."""


class ListedControl(BaseModel):
    """A post of a list: a version in which nothing is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version_id: UUID
    post_id: UUID
    salt: ControlSalt


class ControlList(BaseModel):
    """A list of controls, from which its commitment is computed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    controls: tuple[ListedControl, ...]

    @property
    def commitment(self) -> str:
        """The hash that is in the log before the list is opened."""
        return commit_to((each.version_id, each.salt) for each in self.controls)

    @property
    def batch_id(self) -> UUID:
        return control_batch_id(self.commitment)

    @property
    def in_order(self) -> Sequence[ListedControl]:
        """The controls in the order of their runs, which cannot be derived from the posts."""
        return sorted(self.controls, key=lambda each: sha256(each.salt.encode()).digest())


def draw_salts(posts: Iterable[tuple[UUID, UUID]]) -> ControlList:
    """Make a list of these versions and their posts, with random salts."""
    return ControlList(
        controls=tuple(
            ListedControl(version_id=version, post_id=post, salt=secrets.token_hex(SALT_BYTES))
            for version, post in posts
        )
    )


class ControlLists:
    """The folder of lists. Raises: OSError: it cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, controls: ControlList) -> None:
        """Store a list, readable by this user alone."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(controls.batch_id)
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(controls.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def read(self, batch: UUID) -> ControlList | None:
        """A list, or None if the folder does not have it. Raises: BadList."""
        path = self._path(batch)
        try:
            controls = ControlList.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise BadList(f"{path} is not a list of controls") from error
        if controls.batch_id != batch:
            raise BadList(f"{path} does not match its commitment")
        return controls

    def read_all(self) -> Sequence[ControlList]:
        """Every list. Raises: BadList."""
        found = [self.read(UUID(path.stem)) for path in sorted(self._folder.glob("*.json"))]
        return [each for each in found if each is not None]

    def _path(self, batch: UUID) -> Path:
        return self._folder / f"{batch}.json"


class ControlRuns:
    """Requests due controls like the selector's posts; a request that is published again is the same event."""

    def __init__(self, lists: ControlLists, record: SqlControls, log_: Log, clock: Clock, *, a_day: int) -> None:
        self._lists = lists
        self._record = record
        self._log = log_
        self._clock = clock
        self._a_day = a_day

    async def run_once(self) -> int:
        """Request controls of committed lists that are neither closed nor opened; return how many."""
        now = self._clock.now()
        due: list[InvestigationRequested] = []
        for batch in await self._record.batches():
            if not batch.may_begin(now):
                continue
            try:
                controls = self._lists.read(batch.id)
            except (BadList, OSError) as error:
                log.error("a list of controls cannot be read", batch=str(batch.id), reason=str(error))
                continue
            if controls is None:  # another curator has it
                continue
            begun = {each.version_id for each in await self._record.runs(batch.id)}
            due += [make_request(controls, each) for each in controls.in_order if each.version_id not in begun]
        # Counted last, so that what another curator has requested meanwhile counts against the limit.
        most = max(0, self._a_day - await self._record.requested(now - DAY))
        return sum([await self._log.publish(each, self._clock.new_id()) for each in due[:most]])


def make_request(controls: ControlList, control: ListedControl) -> InvestigationRequested:
    """The event that requests a control. No step of the investigation looks at its origin."""
    batch, analysis = controls.batch_id, FactCheck.name
    return InvestigationRequested(
        investigation_id=investigation_id(control.version_id, analysis, "CONTROL", batch),
        version_id=control.version_id,
        post_id=control.post_id,
        analysis=analysis,
        origin="CONTROL",
        origin_id=batch,
        requested_by="SELECTOR",
    )
