"""What is committed about events is what the classes say."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import contracts.v1
from contracts.topology import CONSUMERS, stream_of
from contracts.v1 import EVENTS, PREFIX, ClaimApproved, Event
from tests.contract.client_types import client_types
from tests.contract.reference import PUBLISHERS, reference
from tests.contract.schemas import EXAMPLES, ROOT, SCHEMAS, name_of, schemas
from tests.contract.verdict import verdict

STALE = "run `python -m tests.contract.write`"


def classes() -> set[type[Event]]:
    """All events in all modules of contracts.v1; those without a subject are bases."""
    found: set[type[Event]] = set()
    for module in pkgutil.iter_modules(contracts.v1.__path__):
        members = vars(importlib.import_module(f"contracts.v1.{module.name}")).values()
        found |= {each for each in members if inspect.isclass(each) and issubclass(each, Event)}
    return {each for each in found if "SUBJECT" in vars(each)}


def test_what_is_written_from_the_contracts_is_current() -> None:
    for path, text in (schemas() | reference() | client_types() | verdict()).items():
        assert path.exists(), f"{path.name} is missing: {STALE}"
        assert path.read_text() == text, f"{path.name} is stale: {STALE}"


@pytest.mark.parametrize("folder", [SCHEMAS, EXAMPLES], ids=["schemas", "examples"])
def test_one_file_for_each_event(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {f"{name_of(event)}.json" for event in EVENTS}


def test_the_list_of_events_is_complete() -> None:
    assert set(EVENTS) == classes()
    assert len(set(EVENTS)) == len(EVENTS)


@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_a_subject_spells_module_and_class(event: type[Event]) -> None:
    aggregate, name = event.SUBJECT.removeprefix(PREFIX).split(".")
    spelled = "".join(word.capitalize() for word in f"{aggregate}_{name}".split("_"))
    assert event.__name__ == spelled
    assert event.__module__ == f"contracts.v1.{aggregate}"


@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_every_event_has_one_stream_and_a_meaning(event: type[Event]) -> None:
    assert stream_of(event)
    assert "SUBJECT" in vars(event)
    assert event.__doc__
    assert event.__doc__ != Event.__doc__


def test_consumer_names_follow_the_grammar_and_are_unique() -> None:
    names = [consumer.name for consumer in CONSUMERS]
    assert len(set(names)) == len(names)
    for consumer in CONSUMERS:
        share = f"-{consumer.share}" if consumer.share else ""
        assert consumer.name == f"{consumer.service}-{name_of(consumer.event).replace('.', '-')}{share}"
        assert consumer.filter == f"{PREFIX}{name_of(consumer.event)}.*"


def made_in(path: Path) -> Iterator[str]:
    """The names of what a module makes, or chooses between."""
    for node in ast.walk(ast.parse(path.read_text())):
        # `kind = VersionVerified if … else VersionSeen` names a class without calling it
        if isinstance(node, ast.IfExp):
            yield from (each.id for each in (node.body, node.orelse) if isinstance(each, ast.Name))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def test_publishers_are_the_services_that_make_the_fact() -> None:
    made: defaultdict[str, set[str]] = defaultdict(set)
    made[ClaimApproved.__name__].add("curator")  # as the validator made it, once its hold has ended
    decided = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): set(made_in(path))
        for path in (ROOT / "lifecycle").rglob("*.py")
    }
    for path in sorted((ROOT / "services").glob("*/**/*.py")):
        service = path.relative_to(ROOT / "services").parts[0]
        for name in made_in(path):
            made[name].add(service)
        for node in ast.walk(ast.parse(path.read_text())):
            # What is decided there is published by the service; commands only decide it again, to compare, but for what
            # becomes of findings: so far, that is the operator's alone.
            if isinstance(node, ast.ImportFrom) and (service != "commands" or node.module == "lifecycle.findings"):
                for name in decided.get(node.module or "", ()):
                    made[name].add(service)
    assert {event: PUBLISHERS[event] for event in EVENTS} == {
        event: tuple(sorted(made[event.__name__])) for event in EVENTS
    }
