"""Our own source files, parsed once, and what can be asked of their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("accuracy", "analyses", "contracts", "kit", "lifecycle", "platforms", "services", "tlog")
CLIENT: Final = ("client/src", "client/action")
"""The folders of the client, which is a package of its own."""
NOT_OURS: Final = frozenset({"node_modules", "dist", "build", "__pycache__"})


@dataclass(frozen=True)
class Source:
    """One Python file. `path` is relative to the project, with forward slashes."""

    path: str
    tree: ast.Module

    @classmethod
    def parse(cls, path: str, text: str) -> Source:
        """A file that need not exist."""
        return cls(path, ast.parse(text))

    @property
    def module(self) -> str:
        """Its import path."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def imports(self) -> Iterator[str]:
        """What it imports, anywhere in the file: modules, and names as `module.name`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(*folders: str) -> tuple[Source, ...]:
    """All Python files of these folders of the project, by default of the packages that are shipped."""
    return tuple(file for folder in folders or PACKAGES for file in _parsed(folder))


@cache
def _parsed(folder: str) -> tuple[Source, ...]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple(Source.parse(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths)


def texts() -> Iterator[tuple[str, str]]:
    """Every text file that belongs to the project, with its path; not what tools put there, nor hidden folders."""
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_dir():
                hidden = path.name.startswith(".") and path.name != ".ci"
                if not hidden and path.name not in NOT_OURS and not path.name.endswith(".egg-info"):
                    pending.append(path)
            elif path.name != ".git":  # a file in a second work tree
                try:
                    yield path.relative_to(ROOT).as_posix(), path.read_text()
                except UnicodeDecodeError:
                    continue


def dotted(node: ast.expr) -> str:
    """`a.b.c` for such an expression, else the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def run_at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """What is evaluated when the module is imported: everything outside function bodies."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [*node.decorator_list, *node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        elif not isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node)
