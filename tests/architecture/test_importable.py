"""Every module of the tests can be imported: benches and fuzzers run seldom, and must not be broken meanwhile."""

from __future__ import annotations

import importlib

import pytest

from tests.architecture.sources import Source, sources

RUN_BY_HAND = sources("tests/bench", "tests/fuzz", "tests/mutants")


@pytest.mark.parametrize("file", RUN_BY_HAND, ids=lambda file: file.path)
def test_what_is_run_by_hand_can_be_imported(file: Source) -> None:
    importlib.import_module(file.module)
