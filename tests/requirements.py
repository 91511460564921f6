"""Which rows of the requirements are proved by tests: `python -m tests.requirements`, with `--all` every row.

Rows are in docs/requirements. A test proves a row if it is marked with it and its docstring carries the row's title, so
that whoever reads the test sees what it must not lose; `--write` puts missing titles there. Tests of the extension name
row and title at once, `test(requirement('FS-9', '…'), …)`.
Exits with 1 if a test names a row that does not exist, or lacks a title, or proves a row that is still `planned`.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
LISTS: Final = HERE.parent / "docs" / "requirements"
EXTENSION: Final = HERE.parent / "extension" / "tests"
ID: Final = r"(?:\d+(?:\.\d+)+|[A-Z]{2,3})-\d+"
ROW: Final = re.compile(rf"^\| ({ID}) \| (.+?) \| (.+?) \|$", re.MULTILINE)
IN_TYPESCRIPT: Final = re.compile(r"""\brequirement\(\s*'([^']+)',\s*(?:'([^']+)'|"([^"]+)"),?\s*\)""")
STATUS: Final = re.compile(r"shown|partly: .+|planned: .+|otherwise: \[\d{4}\]\((\S+\.md)\)")
WIDTH: Final = 120

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Row:
    """One requirement."""

    title: str
    status: str

    @property
    def is_planned(self) -> bool:
        """Whether nothing of it is there yet, so that no test can prove it."""
        return self.status.startswith("planned: ")


@dataclass(frozen=True)
class Mark:
    """A row named by a mark, with what carries it: a test, a class of tests or a module."""

    row: str
    test: str
    docstring: str

    def proves(self, title: str) -> bool:
        """Whether whoever reads the docstring is told what the row asks for."""
        return title in " ".join(self.docstring.split())


def rows_in(text: str) -> dict[str, Row]:
    """Rows of a list by id."""
    return {row: Row(title, status) for row, title, status in ROW.findall(text)}


def rows() -> dict[str, Row]:
    """All rows of all lists."""
    return {row: found for path in sorted(LISTS.glob("*.md")) for row, found in rows_in(path.read_text()).items()}


def carriers(tree: ast.Module) -> Iterator[tuple[Documented, list[str]]]:
    """What carries `requirement(…)` marks, with the ids named there."""
    inside: dict[int, Documented] = {
        id(mark): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
        for mark in ast.walk(decorator)
    }
    found: dict[Documented, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"line {node.lineno}: a requirement is named by a string")
                found.setdefault(inside.get(id(node), tree), []).append(argument.value)
    yield from found.items()


def marks(text: str, name: str = "<text>") -> Iterator[Mark]:
    """The marks of a test file."""
    for node, ids in carriers(ast.parse(text, name)):
        test = "the whole module" if isinstance(node, ast.Module) else node.name
        yield from (Mark(row, test, ast.get_docstring(node) or "") for row in ids)


def marks_in_typescript(text: str) -> Iterator[Mark]:
    """The marks of a test file of the extension: a test's name, or that of a group, carries row and title."""
    for row, single, double in IN_TYPESCRIPT.findall(text):
        yield Mark(row, f"{row}: {single or double}", single or double)


def files_of_tests() -> Iterator[Path]:
    """All files of tests, in both languages."""
    yield from HERE.rglob("test_*.py")
    yield from EXTENSION.rglob("*.test.ts")


def proofs(files: Iterable[Path], known: Mapping[str, Row]) -> tuple[dict[str, list[str]], list[str]]:
    """Tests by the rows they prove, and what is wrong with other marks."""
    found: dict[str, list[str]] = {}
    wrong = []
    for path in sorted(files):
        text = path.read_text()
        for mark in marks_in_typescript(text) if path.suffix == ".ts" else marks(text, path.name):
            test = f"{path.relative_to(HERE if path.is_relative_to(HERE) else HERE.parent).as_posix()}::{mark.test}"
            row = known.get(mark.row)
            if row is None:
                wrong.append(f"there is no row {mark.row}: {test}")
            elif mark.proves(row.title):
                found.setdefault(mark.row, []).append(test)
            else:
                wrong.append(f"the docstring does not carry “{mark.row}: {row.title}”: {test}")
    return found, wrong


def unproved(known: Mapping[str, Row], tests: Mapping[str, list[str]]) -> list[str]:
    """Rows whose status says more than the tests do."""
    return sorted(row for row, found in known.items() if not found.is_planned and row not in tests)


def outdated(known: Mapping[str, Row], tests: Mapping[str, list[str]]) -> list[str]:
    """Rows that are said to be planned although a test proves them."""
    return [f"{row} is proved by {tests[row][0]} and no longer planned" for row in tests if known[row].is_planned]


def with_titles(text: str, known: Mapping[str, Row]) -> str:
    """A test file whose docstrings carry the titles of the rows that it is marked with."""
    lines = text.splitlines()
    edits: list[tuple[int, int, list[str]]] = []
    for node, ids in carriers(ast.parse(text)):
        test = Mark("", "", ast.get_docstring(node) or "")
        titles = [
            f"{row}: {known[row].title}."
            for row in dict.fromkeys(ids)
            if row in known and not test.proves(known[row].title)
        ]
        if titles:
            edits.append(_edit(node, lines, titles))
    for start, end, new in sorted(edits, reverse=True):
        lines[start:end] = new
    return "\n".join(lines) + "\n"


def _edit(node: Documented, lines: list[str], titles: list[str]) -> tuple[int, int, list[str]]:
    """The lines to be replaced, from and to, and the new ones."""
    first = node.body[0]
    indent = " " * first.col_offset
    wrapped = [
        line
        for title in titles
        for line in textwrap.wrap(title, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    ]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        assert first.end_lineno is not None
        old = "\n".join(lines[first.lineno - 1 : first.end_lineno]).rstrip().removesuffix('"""').rstrip()
        return first.lineno - 1, first.end_lineno, [*old.splitlines(), "", *wrapped, f'{indent}"""']
    decorators = (
        first.decorator_list if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    )
    at = min([first.lineno, *(each.lineno for each in decorators)]) - 1
    if len(wrapped) == 1 and len(wrapped[0]) <= WIDTH - 6:
        return at, at, [f'{indent}"""{wrapped[0].strip()}"""']
    return at, at, [f'{indent}"""{wrapped[0].strip()}', *wrapped[1:], f'{indent}"""']


def report(known: Mapping[str, Row], tests: Mapping[str, list[str]], *, everything: bool) -> Iterator[str]:
    """Rows without a proof, or all rows with their tests, then a count."""
    for row, found in known.items():
        if everything or row not in tests:
            yield f"{row:<9} {found.title}{'' if found.status == 'shown' else f' ({found.status})'}"
        if everything:
            yield from (f"          {test}" for test in tests.get(row, ["no test"]))
    planned = sum(found.is_planned for found in known.values())
    otherwise = sum(found.status != "shown" for found in known.values()) - planned
    proved = len(known.keys() & tests.keys())
    yield f"{proved} of {len(known)} rows are proved by tests, {otherwise} not as they stand, {planned} are planned"


def main(arguments: list[str]) -> int:
    """Print the report, or write titles."""
    known = rows()
    if "--write" in arguments:
        for path in HERE.rglob("test_*.py"):
            if (new := with_titles(old := path.read_text(), known)) != old:
                path.write_text(new)
    tests, wrong = proofs(files_of_tests(), known)
    print("\n".join(report(known, tests, everything="--all" in arguments)))
    wrong += outdated(known, tests)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
