"""Lists that name everything of a kind do name everything; folders, names and registries agree."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from analyses import FLAGGING, KINDS
from contracts import topology
from contracts.topology import CONSUMERS
from platforms import PLATFORMS, get_platform
from services.commands.process import SERVICES
from tests.architecture.sources import ROOT, sources

PROGRAMS = {"witness"}
"""What has a command of its own, since it follows no event and reaches none of our servers."""
NOT_A_SERVICE = {"commands", "__pycache__"} | PROGRAMS
ANATOMY = ("app.py", "__init__.py")


def folders() -> set[str]:
    """Everything in services/ that is a service."""
    return {path.name for path in (ROOT / "services").iterdir() if path.is_dir()} - NOT_A_SERVICE


def implementers(package: str, method: str) -> set[str]:
    """Classes of a package that have this method and are no protocols or bases."""
    found = set()
    for source in sources(package):
        module = importlib.import_module(source.module)
        found |= {
            each.__name__
            for each in vars(module).values()
            if isinstance(each, type)
            and each.__module__ == source.module
            and callable(vars(each).get(method))
            and not getattr(each, "_is_protocol", False)
            and not inspect.isabstract(each)
        }
    return found


def test_every_service_has_a_folder_and_every_folder_is_run() -> None:
    assert len(set(SERVICES)) == len(SERVICES)
    assert set(SERVICES) == folders()


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_service_is_put_together_in_its_app(service: str) -> None:
    for name in ANATOMY:
        assert (ROOT / "services" / service / name).is_file(), f"services/{service}/{name}"
    assert callable(importlib.import_module(f"services.{service}.app").build)


def test_import_rules_name_every_service() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = {each["id"]: each for each in tomllib.load(file)["tool"]["importlinter"]["contracts"]}
    named = {f"services.{service}" for service in (*SERVICES, *PROGRAMS)}
    assert set(contracts["services"]["modules"]) == named
    assert set(contracts["commands"]["source_modules"]) == named


def test_every_consumer_belongs_to_a_service_and_is_subscribed_there() -> None:
    for consumer in CONSUMERS:
        assert consumer.service in SERVICES
        assert re.fullmatch(r"[a-z]+-[a-z]+-[a-z_]+(-[a-z]+)?", consumer.name)
        constant = next(name for name, value in vars(topology).items() if value is consumer)
        app = (ROOT / "services" / consumer.service / "app.py").read_text()
        assert f"{constant}," in app, f"{consumer.name} is not subscribed by services/{consumer.service}/app.py"


def test_a_handler_is_named_for_its_event() -> None:
    for consumer in CONSUMERS:
        name = consumer.name.removeprefix(f"{consumer.service}-").removesuffix(f"-{consumer.share}")
        handler = f"on_{name.replace('-', '_')}"
        modules = (ROOT / "services" / consumer.service).glob("*.py")
        assert any(f"async def {handler}(" in path.read_text() for path in modules), handler


@pytest.mark.requirement("2.1-01", "2.1-02", "2.1-03", "2.1-04")
def test_every_platform_is_registered_once() -> None:
    """2.1-01: LessWrong posts supported.
    2.1-02: X posts supported.
    2.1-03: Substack posts supported, on domains of their own too.
    2.1-04: Wikipedia supported, all languages.
    """
    assert {type(site).__name__ for site in PLATFORMS} == implementers("platforms", "check")
    names = [site.name for site in PLATFORMS]
    assert len(set(names)) == len(names)
    assert {"BLUESKY", "LESSWRONG", "SUBSTACK", "WIKIPEDIA", "X"} <= set(names)
    assert all(get_platform(name).name == name for name in names)


@pytest.mark.requirement("2.2-03")
def test_a_kind_of_analysis_is_named_in_its_own_module_and_in_settings_alone() -> None:
    """2.2-03: nothing that runs, stores or shows an investigation is written for one kind of it.

    2.2-03: Nothing but its own module is written for one kind of analysis.
    """
    names = {each.name for each in FLAGGING}
    named = {
        file.path
        for file in sources("analyses", "contracts", "kit", "platforms", "services")
        for constant in ast.walk(file.tree)
        if isinstance(constant, ast.Constant) and constant.value in names
    }
    settings = {"services/gateway/settings.py", "services/selector/settings.py"}
    assert named == settings | {f"analyses/{each.name.lower()}.py" for each in FLAGGING}


def test_every_kind_is_registered_once() -> None:
    assert {type(each).__name__ for each in FLAGGING} == implementers("analyses", "anchor")
    assert set(FLAGGING) <= set(KINDS)
    assert len({each.name for each in KINDS}) == len(KINDS)


def test_every_package_of_ours_is_shipped() -> None:
    """A folder without `__init__.py` is missing in what is installed."""
    without = {
        path.parent.relative_to(ROOT).as_posix()
        for package in ("analyses", "contracts", "kit", "platforms", "services")
        for path in (ROOT / package).rglob("*.py")
        if not (path.parent / "__init__.py").is_file()
    }
    assert without == set()


def test_tests_lie_where_their_needs_say() -> None:
    known = {
        "unit",
        "client",
        "contract",
        "architecture",
        "integration",
        "e2e",
        "chaos",
        "bench",
        "browser",
        "support",
        "cases",
        "conformance",
        "deploy",
        "extension",
        "mutants",
        "cluster",
        "fuzz",
    }
    assert {path.name for path in _folders(ROOT / "tests")} <= known


def _folders(under: Path) -> list[Path]:
    return [path for path in under.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))]
