"""Workflows are well-formed, ask for no right they do not need, and run nothing that a stranger writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.sources import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
TRIGGERS = {"push", "pull_request", "schedule", "workflow_dispatch"}
"""Not `pull_request_target`, which would run a stranger's change with our secrets."""
VERSIONED = re.compile(r"[\w.-]+/[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})")
WRITES = {"packages", "id-token", "attestations"}


def loaded(file: Path) -> dict[str, Any]:
    found: dict[Any, Any] = yaml.safe_load(file.read_text())
    found["on"] = found.pop(True)  # YAML 1.1 reads the word so
    return found


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def uses() -> set[str]:
    return {step["uses"].partition("@")[0] for file in FILES for step in steps(loaded(file)) if "uses" in step}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_workflow_is_well_formed_and_has_no_right_it_does_not_need(file: Path) -> None:
    workflow = loaded(file)
    assert set(workflow) <= {"name", "on", "permissions", "concurrency", "jobs"}
    assert set(workflow["on"]) <= TRIGGERS
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert set(job) <= {"runs-on", "timeout-minutes", "strategy", "permissions", "env", "steps", "needs"}, name
        assert re.fullmatch(r"ubuntu-\d\d\.\d\d", job["runs-on"]), name
        assert 0 < job["timeout-minutes"] <= 60, name
        rights = job.get("permissions", {"contents": "read"})
        assert {right for right, level in rights.items() if level == "write"} <= WRITES, name
        assert rights["contents"] == "read", name
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step), step
        assert set(step) <= {"id", "if", "uses", "with", "run", "env", "working-directory"}, step
        if "uses" in step:
            assert VERSIONED.fullmatch(step["uses"]), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), "what a stranger names would become a command"
        for target in re.findall(r"\bmake ([a-z]+)", step.get("run", "")):
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), target
        folder = ROOT / step.get("working-directory", ".")
        assert folder.is_dir(), step
    known = set(re.findall(r"^      - id: (\w+)|^        id: (\w+)", file.read_text(), re.M))
    ids = {name for pair in known for name in pair if name}
    assert set(re.findall(r"steps\.(\w+)\.", file.read_text())) <= ids


def test_changes_are_tested_and_audited_and_versions_say_what_is_in_them() -> None:
    runs = " ".join(step.get("run", "") for file in FILES for step in steps(loaded(file)))
    assert "make test" in runs
    assert "make coverage" in runs
    assert "npm audit" in runs
    assert {"pypa/gh-action-pip-audit", "docker/build-push-action", "actions/attest-build-provenance"} <= uses()
    (build,) = [
        step["with"]
        for file in FILES
        for step in steps(loaded(file))
        if step.get("uses", "").startswith("docker/build-push-action@")
    ]
    assert (build["sbom"], build["provenance"]) == (True, "mode=max")
    assert (ROOT / build["file"]).is_file()
    (audit,) = [step["with"] for file in FILES for step in steps(loaded(file)) if "pip-audit" in step.get("uses", "")]
    assert all((ROOT / each).is_file() for each in audit["inputs"].split())
    assert audit["require-hashes"] is True


def test_every_python_that_is_supported_is_tested() -> None:
    (test,) = [job for file in FILES for job in loaded(file)["jobs"].values() if "strategy" in job]
    assert test["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]


def test_hooks_before_a_commit_are_the_tools_of_the_project_and_fetch_nothing() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repository["repo"] for repository in repositories} == {"local"}
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    assert {hook["entry"].split()[0] for hook in hooks} == {
        f".venv/bin/{tool}" for tool in ("ruff", "mypy", "lint-imports")
    }
    assert {hook["language"] for hook in hooks} == {"system"}


@pytest.mark.parametrize("file", sorted((ROOT / ".github").glob("**/*.y*ml")), ids=lambda file: file.name)
def test_what_the_forge_reads_is_yaml(file: Path) -> None:
    assert isinstance(yaml.safe_load(file.read_text()), dict)


def test_dependencies_of_every_kind_are_kept_new() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert {each["package-ecosystem"] for each in updates} == {"pip", "npm", "github-actions", "docker"}
    assert all((ROOT / each["directory"].lstrip("/")).is_dir() for each in updates)
