"""Compares an export of the public record with the decision log, in both directions.

Every finding that is shown must be logged, word for word, and every logged one must be shown or taken back. The export
must be older than the note, so that all of it is logged. Source: row TR-16 of docs/requirements/trust.md.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError

from tlog.leaf import Leaf, Opening, find_leaf
from tlog.monitor import Alarm

_Row = dict[str, Any]  # as JSON has it; models read it below
_TABLES: Final = ("claims", "withdrawn_claims", "leaves", "openings")


class NotAnExport(Exception):
    """The folder is not an export as `openerrata export --format jsonl` writes it."""


class Claim(BaseModel):
    """A finding that is shown, as far as it is compared."""

    id: str
    investigation_id: str
    text: str
    context: str
    summary: str


class Withdrawn(BaseModel):
    """A finding that was taken back."""

    claim_id: str


class ExportedLeaf(BaseModel):
    """Whether a leaf's documents are exported, as the operator says."""

    leaf: int
    standing: Literal["OPENED", "UNLISTED", "ERASED", "EMPTY"]


class Opened(BaseModel):
    """A document that a leaf commits to."""

    leaf: int
    j: int
    salt: str
    document: str

    def parse(self) -> tuple[Opening, Mapping[str, object]]:
        """The opening and its document. Raises: ValueError: the document is not a JSON object."""
        document = json.loads(self.document)
        if not isinstance(document, dict):
            raise ValueError("not an object")
        return Opening(self.j, b64decode(self.salt), self.document.encode()), document


class Exported(BaseModel):
    """The tables that are compared."""

    claims: Sequence[Claim]
    withdrawn_claims: Sequence[Withdrawn]
    leaves: Sequence[ExportedLeaf]
    openings: Sequence[Opened]


def read_export(folder: Path) -> Exported:
    """The newest rows of an export. Raises: NotAnExport."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        keys = {name: manifest["tables"][name]["key"] for name in _TABLES}
        rows: dict[str, dict[tuple[object, ...], _Row]] = {name: {} for name in _TABLES}
        for part in manifest["parts"]:
            for gone in _read_lines(folder / part["name"] / "deleted.jsonl"):
                if gone["table"] in rows:
                    rows[gone["table"]].pop(tuple(gone["key"]), None)
            for name in _TABLES:
                for row in _read_lines(folder / part["name"] / f"{name}.jsonl"):
                    rows[name][tuple(row[column] for column in keys[name])] = row
        return Exported.model_validate({name: list(found.values()) for name, found in rows.items()})
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise NotAnExport(f"{folder} is not an export in JSON Lines: {type(error).__name__}: {error}") from error


def compare(exported: Exported, leaves: Sequence[bytes]) -> Iterator[Alarm]:
    """Every contradiction between what is shown and the leaves under a note."""
    parsed = [find_leaf(data) for data in leaves]
    logged: dict[str, Mapping[str, object]] = {}
    opened: Counter[int] = Counter()
    for each in exported.openings:
        leaf = parsed[each.leaf] if 0 <= each.leaf < len(parsed) else None
        if leaf is None:
            yield Alarm("the export opens it, and it is not under the note", each.leaf)
            continue
        try:
            opening, document = each.parse()
        except ValueError:
            yield Alarm("its opening is malformed", each.leaf)
            continue
        if opening.j >= len(leaf.c) or leaf.c[opening.j] != opening.commitment:
            yield Alarm(f"the exported document {each.j} is not what it commits to", each.leaf)
            continue
        opened[each.leaf] += 1
        if leaf.k == "found" and isinstance(document.get("claim"), str):
            logged[str(document["claim"])] = document
    withdrawn = {each.claim_id for each in exported.withdrawn_claims}
    unlogged: list[Claim] = []
    for claim in exported.claims:
        document = logged.pop(claim.id, {})
        if not document:
            unlogged.append(claim)
        elif (document["text"], document["context"], document["summary"]) != (claim.text, claim.context, claim.summary):
            yield Alarm(f"the finding {claim.id} is shown in other words than were logged")
    # Findings from before the log have no leaf; the first leaf says how many investigations they are from.
    earlier = sum(leaf.n or 0 for leaf in parsed[:1] if leaf is not None)
    if len({claim.investigation_id for claim in unlogged}) > earlier:
        for claim in unlogged:
            yield Alarm(f"the finding {claim.id} is shown, and no leaf under the note is about it")
    for id_ in logged.keys() - withdrawn:
        yield Alarm(f"the finding {id_} was logged, and is neither shown nor taken back")
    yield from _compare_standing(exported, parsed, opened)


def _compare_standing(exported: Exported, parsed: Sequence[Leaf | None], opened: Mapping[int, int]) -> Iterator[Alarm]:
    """Check that documents which are not exported were erased, as a leaf says, or are about an unlisted text."""
    redacted = {index for leaf in parsed if leaf is not None and leaf.k == "redacted" for index in leaf.ref}
    standings = {each.leaf: each.standing for each in exported.leaves}
    for index, leaf in enumerate(parsed[: max(standings, default=-1) + 1]):
        standing = standings.get(index)
        if standing is None:
            yield Alarm("the export does not say whether its documents are there", index)
        elif leaf is None or not leaf.c:
            continue
        elif standing == "OPENED" and opened[index] != len(leaf.c):
            yield Alarm(f"{opened[index]} of {len(leaf.c)} documents are in the export, which calls it opened", index)
        elif standing in ("ERASED", "EMPTY") and index not in redacted:
            yield Alarm("what it commits to is gone, and no leaf says that it was erased", index)


def _read_lines(file: Path) -> Iterator[_Row]:
    if file.exists():
        with file.open("rb") as source:
            for line in source:
                yield json.loads(line)
