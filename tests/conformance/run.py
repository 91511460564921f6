"""Reads folders of recorded cases and tells which of them our code meets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.kinds import KINDS, Case

SHOWN_IDS = 10


class UnreadableCases(Exception):
    """A folder or file does not hold recorded cases; the message names it."""


@dataclass
class Report:
    """How one file of cases fared. `implemented`: false if our code has nothing to compare with."""

    name: str
    implemented: bool
    total: int = 0
    failed: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line for people."""
        if not self.implemented:
            return f"{self.name} not implemented"
        failures = ", ".join(self.failed[:SHOWN_IDS]) + (", …" if len(self.failed) > SHOWN_IDS else "")
        return f"{self.name} {self.total - len(self.failed)}/{self.total}" + (
            f" failed: {failures}" if failures else ""
        )


def run_folder(folder: Path) -> Iterator[Report]:
    """Run every file of a folder. Raises: UnreadableCases."""
    if not folder.is_dir():
        raise UnreadableCases(f"{folder} is not a folder")
    # Other JSON may lie beside the cases; the folder must hold some, or a wrong path would look like success.
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UnreadableCases(f"{folder} holds no .json files")
    for file in files:
        yield run_file(file)


def run_file(file: Path) -> Report:
    """Run one file. Raises: UnreadableCases."""
    name, cases = _read(file)
    passes = KINDS.get(name)
    report = Report(name, implemented=passes is not None, total=len(cases))
    if passes is None:
        return report
    for number, case in enumerate(cases):
        identity = str(case.get("id", number))
        try:
            passed = passes(case)
        except KeyError as error:
            raise UnreadableCases(f"{file}: case {identity} lacks {error}") from error
        except Exception as error:  # noqa: BLE001, RUF100  # whatever breaks, the other cases still count
            report.failed.append(f"{identity} ({type(error).__name__})")
            continue
        if not passed:
            report.failed.append(identity)
    return report


def _read(file: Path) -> tuple[str, list[Case]]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableCases(f"{file} cannot be read: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise UnreadableCases(f'{file} is not of the form {{"name", "what", "cases"}}')
    cases = document["cases"]
    if not all(isinstance(case, dict) and "input" in case and "output" in case for case in cases):
        raise UnreadableCases(f"{file} has a case without input or output")
    return str(document.get("name", file.stem)), cases
