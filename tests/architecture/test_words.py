"""Names and docstrings of the shipped code use the words of docs/glossary.md, not those of its column *avoid*.

Shapes: an entry in backticks is looked for in names alone, any other entry in names and docstrings. Entries match whole
words of a name: `tell_once` is found in `tell_once_more`, and `bury` not in `buryable`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.architecture.sources import CLIENT, ROOT, Source, sources

GLOSSARY: Final = ROOT / "docs" / "glossary.md"
ROW: Final = re.compile(r"^\|([^|]+)\|([^|]+)\|([^|]*)\|$", re.M)
HEAD: Final = ("word", "meaning", "avoid")
PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def avoided(glossary: str) -> Iterator[tuple[str, str, bool]]:
    """What is to be avoided, the glossary's word for it, and whether docstrings are read for it too."""
    for row in ROW.findall(glossary):
        word, _, column = (cell.strip() for cell in row)
        if word == HEAD[0] or not word.strip("-"):
            continue
        for entry in filter(None, (each.strip() for each in column.split(","))):
            yield entry.strip("`"), word, not entry.startswith("`")


def parts(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(part.lower() for part in PART.findall(name))


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module defines, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


def docstrings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every docstring of a module, that of an assignment too, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text, node.lineno


def misnamed(source: Source, glossary: str) -> Iterator[str]:
    """Where a module uses what the glossary says to avoid."""
    defined = [(f"_{'_'.join(parts(name))}_", name, line) for name, line in names(source.tree)]
    texts = list(docstrings(source.tree))
    for entry, word, in_texts in avoided(glossary):
        sought = f"_{'_'.join(parts(entry))}_"
        yield from (
            f"{source.path}:{line}: {name} ({entry}: see {word})" for found, name, line in defined if sought in found
        )
        if in_texts:
            pattern = re.compile(rf"\b{re.escape(entry)}\b", re.IGNORECASE)
            yield from (f"{source.path}:{line}: {entry}: see {word}" for text, line in texts if pattern.search(text))


def test_no_name_and_no_docstring_uses_a_word_to_avoid() -> None:
    glossary = GLOSSARY.read_text()
    files = (*sources(), *sources(*CLIENT))
    assert [found for source in files for found in misnamed(source, glossary)] == []


def test_every_table_of_the_glossary_says_what_to_avoid() -> None:
    heads = [tuple(cell.strip() for cell in row) for row in ROW.findall(GLOSSARY.read_text())]
    tables = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| word")]
    assert heads.count(HEAD) == len(tables) > 0
    assert any(avoided(GLOSSARY.read_text()))


def test_classes_that_the_glossary_names_are_there() -> None:
    meanings = " ".join(meaning for _, meaning, _ in ROW.findall(GLOSSARY.read_text()))
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", meanings))
    assert len(named) > 3
    assert named - {name for source in sources() for name, _ in names(source.tree)} == set()


SMALL: Final = "| word | meaning | avoid |\n|---|---|---|\n| publish | store a fact | `tell_once`, bury, `Door` |\n"


@pytest.mark.parametrize(
    "text",
    [
        "def tell_once_more(): ...",
        "class TellOnce: ...",
        "class GuardedDoor: ...",
        "def f(bury): ...",
        "bury = 1",
        "def f(self): self.bury_it = 1",
        '"""Bury it."""',
        'def f():\n    """To bury it."""',
        'A = 1\n"""What we bury."""',
    ],
)
def test_a_word_to_avoid_is_found(text: str) -> None:
    assert list(misnamed(Source.parse("kit/a.py", text), SMALL)) != []


@pytest.mark.parametrize(
    "text", ["def tell(): ...", "burying = 1", "x = Door()", '"""Through the door, tell_once."""', 'x = "bury"']
)
def test_other_words_are_not(text: str) -> None:
    assert list(misnamed(Source.parse("kit/a.py", text), SMALL)) == []
