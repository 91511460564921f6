"""Everything in the product is used by the product: what only tests call proves nothing about what runs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from tests.architecture.sources import Source, sources

Definition: TypeAlias = tuple[str, str]
"""A function or class by module and name."""
_KINDS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

FOR_OTHERS: Final = {
    ("contracts.composed", "combining_class"): "normalisation that tests search for a counterexample",
    ("contracts.lookup.framing", "unframe"): "how a client reads a bucket, beside how it is written",
    ("platforms.identity", "canonical_occurrences"): "a rule that recorded cases name, docs/protocol.md 3.3",
    ("platforms.wikipedia_text", "is_excluded_section"): "a rule that recorded cases name, docs/protocol.md 3.5",
}
"""What is here for somebody outside, and why."""


def find_unused(files: Sequence[Source], used: Container[Definition] = ()) -> set[Definition]:
    """Functions and classes that nothing uses but themselves and what is unused as well.

    Decorated functions are left out, since what decorates them may call them, and so is what a service starts with.
    """
    defined = {(file.module, node.name): node for file in files for node in file.tree.body if isinstance(node, _KINDS)}
    imported = {(file.module, name): found for file in files for name, found in _imports(file.tree).items()}
    users: dict[Definition, set[Definition | None]] = defaultdict(set)
    for file in files:
        for node in file.tree.body:
            user = (file.module, node.name) if isinstance(node, _KINDS) else None
            for named in _uses(node, file.module, imported):
                if named != user:
                    users[named].add(user)
    unused: set[Definition] = set()
    while more := {
        each
        for each, node in defined.items()
        if each not in unused and users[each] <= unused and each not in used and not _is_started(each, node)
    }:
        unused |= more
    return unused


def _is_started(definition: Definition, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    decorated = bool(node.decorator_list) and not isinstance(node, ast.ClassDef)
    return decorated or definition[0].startswith("kit.migrations.") or definition[1] == "build"


def _imports(tree: ast.Module) -> dict[str, Definition]:
    """The names that a module imports, by what it calls them; of a module as a whole, the last part is its name."""
    found: dict[str, Definition] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, _, name = alias.name.rpartition(".")
                found[alias.asname or alias.name] = (package, name)
    return found


def _uses(node: ast.AST, module: str, imported: Mapping[Definition, Definition]) -> Iterator[Definition]:
    """What is named inside, followed to where it is defined; annotations in quotes and registries by name included."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield _follow((module, each.id), imported)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            yield _follow((module, each.value), imported)
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            package, name = _follow((module, each.value.id), imported)
            yield _follow((f"{package}.{name}".strip("."), each.attr), imported)


def _follow(definition: Definition, imported: Mapping[Definition, Definition]) -> Definition:
    while definition in imported:
        definition = imported[definition]
    return definition


def test_nothing_is_there_for_tests_alone() -> None:
    unused = find_unused(sources(), FOR_OTHERS)
    assert not unused, "\n".join(f"{module}.{name} is used by nothing but tests" for module, name in sorted(unused))
    assert set(FOR_OTHERS) <= find_unused(sources()), "what is used needs no reason"


def test_what_is_used_is_found_through_imports_and_names() -> None:
    def parse(path: str, *lines: str) -> Source:
        return Source.parse(path, "\n".join(lines))

    rules = parse(
        "a/rules.py",
        "def used(): helper()",
        "def helper(): ...",
        "def dead(): only_dead(); dead()",
        "def only_dead(): ...",
        "class Quoted: ...",
        "def by_module(): ...",
        "def again(): ...",
    )
    users = parse(
        "a/app.py",
        "import a.rules",
        "from a import rules as r, public",
        "from a.rules import used as u, again",
        "def build(given: 'Quoted'): u(); r.by_module()",
        "dead = 1",
        "class again: ...",
    )
    quoting = parse("a/quoting.py", "from a.rules import Quoted", "KIND = 'Quoted'")
    assert find_unused([rules, users, quoting]) == {
        ("a.rules", "dead"),
        ("a.rules", "only_dead"),
        ("a.rules", "again"),
        ("a.app", "again"),
    }
