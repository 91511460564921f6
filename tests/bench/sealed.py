"""Posts with known answers that are kept secret: the decision log holds their hash before any model is judged by them.

    python -m tests.bench.sealed cases.toml
    python -m tests.bench cases --sealed cases.toml --proof cases.proof --policy policy

Each `[[post]]` of the file names its `kind`; else it is written as the files of `cases`. Sealing writes a salt into the
first line, without which a guess of the posts could be checked against the hash. Publishing the file opens the set: its
hash, as `sha256sum` prints it, is what the log holds.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

import click
from pydantic import ValidationError

from contracts.v1 import ControlCommitted
from contracts.v1.control import MOST_CONTROLS
from kit.bus import Bus, connect
from kit.clock import Clock, SystemClock
from kit.embedded import ServiceName
from kit.publisher import PublishConflict
from kit.servers_in_use import Servers
from services.commands.shared import on_servers, open_servers, run
from tests.bench import casebook
from tests.bench.casebook import Post
from tlog.decision import prove_decision
from tlog.policy import Policy

SALT_BYTES: Final = 32
_NEEDS: Final[tuple[ServiceName, ...]] = ("nats",)
_SALT: Final = re.compile(rb"# openerrata/cases/1 [0-9a-f]{64}\n")


@dataclass(frozen=True, slots=True)
class SealedSet:
    """Posts, and the leaf of the decision log that commits to their file."""

    posts: tuple[Post, ...]
    commitment: str
    origin: str
    index: int
    committed_at: datetime


def read_posts(data: bytes) -> tuple[Post, ...]:
    """The posts of a file, sealed or not. Raises: ValueError: one is wrong, or there are too many for one set."""
    posts = casebook.together(casebook.parse(None, data.decode()))
    if not 1 <= len(posts) <= MOST_CONTROLS:
        raise ValueError(f"a set has 1 to {MOST_CONTROLS} posts")
    return posts


def add_salt(data: bytes, salt: str) -> bytes:
    """The file with the salt in its first line; one that has a salt keeps it."""
    return data if _SALT.match(data) else f"# openerrata/cases/1 {salt}\n".encode() + data


def hash_file(data: bytes) -> str:
    """What the log holds of a sealed file. Raises: ValueError: it has no salt."""
    if _SALT.match(data) is None:
        raise ValueError("it is not sealed: its first line is no salt")
    return sha256(data).hexdigest()


def require_committed(data: bytes, proof: bytes, policy: Policy, now: datetime) -> SealedSet:
    """The posts of a sealed file, with the leaf that a proof shows.

    Raises: ValueError: the leaf is about another file, or later, or the time of the set is over; TlogError: it is in no
    log that the policy accepts.
    """
    commitment = hash_file(data)
    proven = prove_decision(proof, policy)
    committed_at = datetime.fromtimestamp(proven.leaf.t / 1_000, UTC)
    try:
        event = ControlCommitted.model_validate(json.loads(proven.documents.get(0, b"{}")))
    except ValidationError as error:
        raise ValueError("the proof is of no set of posts") from error
    if proven.leaf.k != "control_committed" or event.holds != "CASES" or event.commitment != commitment:
        raise ValueError("the proof is of another set of posts")
    if not committed_at < now < event.closes_at:
        raise ValueError(f"the set is for runs from {committed_at:%Y-%m-%d} to {event.closes_at:%Y-%m-%d}")
    return SealedSet(read_posts(data), commitment, proven.origin, proven.index, committed_at)


def seal(file: Path) -> bytes:
    """Write the salt into the file; return its new bytes. Raises: click.ClickException: a post is wrong; OSError."""
    try:
        data = add_salt(file.read_bytes(), secrets.token_hex(SALT_BYTES))
        read_posts(data)
    except ValueError as error:
        raise click.ClickException(f"{file}: {error}") from error
    _keep(file, data)
    return data


async def commit(bus: Bus, clock: Clock, data: bytes, days: int) -> str:
    """Commit to a sealed file; return what to print."""
    closes_at = clock.now() + timedelta(days=days)
    size = len(read_posts(data))
    event = ControlCommitted(commitment=hash_file(data), size=size, closes_at=closes_at, holds="CASES")
    try:
        await bus.publish(event, correlation=clock.new_id())
    except PublishConflict:
        return f"nothing changed: {event.commitment} is committed to as {event.batch_id}"
    return f"{event.size} posts, {event.commitment}, committed to as {event.batch_id}"


def _keep(file: Path, data: bytes) -> None:
    """Write a file, readable by this user alone, and whole before the log names its hash."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--days", type=click.IntRange(1, 400), default=90, show_default=True, help="It is used so long.")
@on_servers
def main(file: Path, days: int, data_dir: Path) -> None:
    """Commit to the posts of FILE in the decision log. The same file again changes nothing."""
    data = seal(file)

    async def work(found: Servers) -> str:
        async with connect(found.nats_url, name="openerrata-sealed") as bus:
            return await commit(bus, SystemClock(), data, days)

    with open_servers(data_dir, quieter="error", needs=_NEEDS) as found:
        click.echo(run(work(found)))


if __name__ == "__main__":
    main()
