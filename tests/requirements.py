"""Which rows of the requirements are shown by tests: `python -m tests.requirements`, with `--all` every row.

Rows come from the requirements document where it is at hand, else from the ids in requirements.txt beside this file.
Those that docs/requirements.md lists hold in another way than their text says.
Exits with 1 if a test names a row that does not exist, so a mistyped id is not a silent gap.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
DOCUMENT: Final = HERE.parents[1] / "shared" / "design" / "REQUIREMENTS.md"
IDS: Final = HERE / "requirements.txt"
DECIDED: Final = HERE.parent / "docs" / "requirements.md"
ROW: Final = re.compile(r"^\|\s*(\d+(?:\.\d+)+-\d+)\s*\|\s*(.*?)\s*\|", re.MULTILINE)
ID: Final = re.compile(r"\d+(?:\.\d+)+-\d+")


def rows_in(text: str) -> dict[str, str]:
    """Rows of a document, title by id; a list of bare ids has no titles."""
    return dict(ROW.findall(text)) or dict.fromkeys(ID.findall(text), "")


def rows() -> dict[str, str]:
    """The rows that tests are held against."""
    given = os.environ.get("OPENERRATA_REQUIREMENTS")
    document = Path(given) if given else DOCUMENT
    return rows_in((document if given or document.exists() else IDS).read_text())


def marks(text: str, name: str = "<text>") -> Iterator[tuple[str, str]]:
    """Ids named by `requirement(…)` marks in a test file, each with the test or class it stands on."""
    tree = ast.parse(text, name)
    inside = {
        id(mark): node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
        for mark in ast.walk(decorator)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"line {node.lineno}: a requirement is named by a string")
                yield argument.value, inside.get(id(node), "the whole module")


def shown(files: Iterable[Path]) -> dict[str, list[str]]:
    """Tests by the rows they name."""
    found: dict[str, list[str]] = {}
    for path in sorted(files):
        for row, test in marks(path.read_text(), path.name):
            found.setdefault(row, []).append(f"{path.relative_to(HERE).as_posix()}::{test}")
    return found


def report(
    known: Mapping[str, str], tests: Mapping[str, list[str]], decided: Iterable[str] = (), *, everything: bool
) -> Iterator[str]:
    """Rows without a test, or all rows with their tests, then a count; `decided` otherwise are marked as such."""
    otherwise = frozenset(decided)
    for row, title in known.items():
        if everything or row not in tests:
            yield f"{row:<9} {title}{' (decided otherwise)' if row in otherwise else ''}".rstrip()
        if everything:
            yield from (f"          {test}" for test in tests.get(row, ["no test"]))
    count = f"{len(known.keys() & tests.keys())} of {len(known)} rows are shown by tests"
    yield f"{count}, {len(otherwise)} of them as decided otherwise" if otherwise else count


def main(arguments: list[str]) -> int:
    """Print the report."""
    known, tests = rows(), shown(HERE.rglob("test_*.py"))
    print("\n".join(report(known, tests, rows_in(DECIDED.read_text()), everything="--all" in arguments)))
    unknown = {row: places for row, places in tests.items() if row not in known}
    for row, places in sorted(unknown.items()):
        print(f"there is no row {row}: {', '.join(places)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
