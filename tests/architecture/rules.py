"""What import rules cannot say, as functions from sources to sentences; no sentence means that the rule is kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tests.architecture.sources import Source, dotted, run_at_import

Rule = Iterator[str]

NOT_REPLAYABLE: Final = re.compile(
    r"(datetime\.)*(datetime\.(now|utcnow|today)|date\.today)"
    r"|time\.(time|time_ns|localtime|gmtime|strftime)"
    r"|uuid\.uuid[14]|uuid_utils\.(compat\.)?uuid[1467]"
    r"|random\..+|secrets\..+|os\.urandom"
)
"""Names that bring time of day or randomness in. `monotonic` and `perf_counter` measure how long something took."""

NOT_REPLAYABLE_FROM: Final = frozenset({"datetime", "os", "random", "secrets", "time", "uuid", "uuid_utils"})

VAGUE_NAMES: Final = frozenset({"util", "utils", "helper", "helpers", "common", "misc", "shared_utils", "tools"})


def time_and_chance(files: Iterable[Source], allowed: Mapping[str, Mapping[str, str]]) -> Rule:
    """Time and randomness enter through kit/clock.py; `allowed` names exceptions by file, each with its reason."""
    for file in files:
        names = _imported_names(file)
        for node in ast.walk(file.tree) if names else ():
            head, _, rest = (dotted(node) if isinstance(node, ast.Name | ast.Attribute) else "").partition(".")
            full = f"{names.get(head, head)}.{rest}".rstrip(".")
            if NOT_REPLAYABLE.fullmatch(full) and full not in allowed.get(file.path, ()):
                yield f"{file.path}:{node.lineno} uses {full}"  # type: ignore[attr-defined]  # expressions have a line


def lifetimes_by_time_of_day(files: Iterable[Source]) -> Rule:
    """How long something lasts is measured by `clock.monotonic()`: nothing is compared with `clock.now()`."""
    for file in files:
        for function in ast.walk(file.tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            moments = {
                target.id
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and _is_moment(node.value)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Compare):
                    parts = [part for side in (node.left, *node.comparators) for part in _terms(side)]
                    if any(_is_moment(part) or (isinstance(part, ast.Name) and part.id in moments) for part in parts):
                        yield f"{file.path}:{node.lineno} compares a moment of the time of day"


def _is_moment(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(re.fullmatch(r"(.+\.)?_?clock\.now", dotted(node.func) or ""))


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def exceptions_without_use(files: Iterable[Source], allowed: Mapping[str, Mapping[str, str]]) -> Rule:
    """An exception that nobody needs any more is one too many."""
    by_path = {file.path: file for file in files}
    for path, names in allowed.items():
        used = (
            set() if path not in by_path else {line.rpartition(" ")[2] for line in time_and_chance([by_path[path]], {})}
        )
        yield from (f"{path} does not use {name}" for name in names if name not in used)


def _imported_names(file: Source) -> dict[str, str]:
    """What a file calls the things that it imports from where time and randomness come from."""
    names: dict[str, str] = {}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {short: full for short, full in names.items() if full.partition(".")[0] in NOT_REPLAYABLE_FROM}


NODES: Final = frozenset({"child", "first_child", "last_child", "next", "parent", "prev"})
"""What leads from one node of a tree to another."""
_BY_VALUE: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def nodes_compared(files: Iterable[Source]) -> Rule:
    """Nodes of a parsed page are told apart by `mem_id`: to compare them is to write both out as HTML."""
    for file in files:
        if "selectolax.lexbor.LexborNode" not in file.imports():
            continue
        for function in ast.walk(file.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                nodes = set(_names_of_nodes(function))
                yield from (f"{file.path}:{at} compares {what}" for at, what in _compared(function, nodes))


def _compared(function: ast.AST, nodes: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and any(isinstance(by, _BY_VALUE) for by in node.ops):
            for side in (node.left, *node.comparators):
                led_to = isinstance(side, ast.Attribute) and side.attr in NODES
                if led_to or (isinstance(side, ast.Name) and side.id in nodes):
                    yield node.lineno, ast.unparse(side)


def _names_of_nodes(tree: ast.AST) -> Iterator[str]:
    """Names that are said to be nodes, or are given what leads to one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation and "LexborNode" in ast.unparse(node.annotation):
            yield node.arg
        elif isinstance(node, ast.Assign):
            value = node.value
            calls = isinstance(value, ast.Call) and dotted(value.func).endswith(".css_first")
            if calls or (isinstance(value, ast.Attribute) and value.attr in NODES):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def settings_classes(files: Iterable[Source]) -> Iterator[tuple[Source, ast.ClassDef, str]]:
    """Every class of settings, with its prefix of environment variables."""
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ClassDef) and "BaseSettings" in map(dotted, node.bases):
                prefixes = [
                    keyword.value.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Call)
                    for keyword in each.keywords
                    if keyword.arg == "env_prefix" and isinstance(keyword.value, ast.Constant)
                ]
                yield file, node, "".join(map(str, prefixes))


def settings_at_import(files: Iterable[Source]) -> Rule:
    """The environment is read when a process starts, not when a module is imported."""
    files = list(files)
    makers = {node.name for _, node, _ in settings_classes(files)} | {"load", "settings.load"}
    for file in files:
        for node in run_at_import(file.tree):
            if isinstance(node, ast.Call) and dotted(node.func) in makers | {f"settings.{name}" for name in makers}:
                yield f"{file.path}:{node.lineno} reads settings at import"
            elif isinstance(node, ast.Attribute) and dotted(node) in ("os.environ", "os.getenv"):
                yield f"{file.path}:{node.lineno} reads the environment at import"


def variables(files: Iterable[Source]) -> Iterator[str]:
    """Every environment variable that settings classes read."""
    for _, node, prefix in settings_classes(files):
        for each in node.body:
            if (
                isinstance(each, ast.AnnAssign)
                and isinstance(each.target, ast.Name)
                and each.target.id != "model_config"
            ):
                yield f"{prefix}{each.target.id}".upper()


def options(files: Iterable[Source]) -> Iterator[str]:
    """Environment variables that commands read through `envvar=`."""
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.keyword) and node.arg == "envvar" and isinstance(node.value, ast.Constant):
                yield str(node.value.value)


def without_docstring(files: Iterable[Source]) -> Rule:
    """A module says which decision it embodies."""
    return (f"{file.path} has no docstring" for file in files if not (ast.get_docstring(file.tree) or "").strip())


def vague_names(files: Iterable[Source]) -> Rule:
    """A name says what is in it."""
    for file in files:
        vague = VAGUE_NAMES & set(file.module.split("."))
        if vague:
            yield f"{file.path}: {', '.join(sorted(vague))} says nothing"


def sql_elsewhere(files: Iterable[Source]) -> Rule:
    """In services, SQL stands in adapters, reads, store and record, in the projector, and in commands."""
    for file in files:
        parts = file.module.split(".")
        if parts[0] != "services" or parts[1:2] in (["projector"], ["commands"]):
            continue
        if parts[-1] in ("adapters", "reads", "store") or parts[2:3] == ["record"]:
            continue
        for name in file.imports():
            if name.split(".")[0] in ("psycopg", "sqlalchemy") or name.startswith("contracts.readmodel"):
                yield f"{file.path} imports {name}"
                break


UNEXPLAINED: Final = re.compile(r"# (?:type: ignore(?:\[[^]]*])?|noqa(?:: ?[A-Z0-9, ]+)?)\s*$", re.M)


def without_reason(path: str, text: str) -> Rule:
    """Whoever silences a check says why in the same line."""
    for found in UNEXPLAINED.finditer(text) if path.endswith(".py") else ():
        yield f"{path}:{text.count(chr(10), 0, found.start()) + 1} gives no reason: {found.group().strip()}"


MACHINE_PATH: Final = re.compile(r"(?<![\w.:/}~-])/(?:home|root|work|Users)/[A-Za-z0-9_.-]+")
REGISTRY: Final = re.compile(
    r"(?:^|\s)(?:-i|-f|--find-links|(?:--)?(?:extra-)?index-url|registry)\s*[ =]\s*https?://\S+", re.M
)
RESOLVED: Final = re.compile(r'"resolved":\s*"[^"]*"')


def traces(path: str, text: str) -> Rule:
    """A stranger's clone must work: nothing names the machine or the registry it was made with."""
    for pattern, what in (
        (MACHINE_PATH, "names a folder of one machine"),
        (REGISTRY, "names a package registry"),
        (RESOLVED, "was locked from another registry"),
    ):
        found = pattern.search(text)
        if found:
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{line} {what}: {found.group().strip()[:80]}"
