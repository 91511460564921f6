"""Every analysis is registered, named, and keeps its word about its prompts."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from pydantic import TypeAdapter

import analyses
from analyses import FLAGGING, KINDS, flagging_kind
from analyses.fact_check import TOOLS
from analyses.flagging import FlaggingKind, Material
from analyses.kinds import Kind, describe, hash_bundle
from contracts.steps import StepName

RELEASED = json.loads((Path(__file__).parent / "released_prompts.json").read_text("utf-8"))


def prompts() -> list[tuple[str, str, str]]:
    return [(p.version, p.text, p.sha256) for each in KINDS for p in (step.prompt for step in each.steps)]


@pytest.mark.requirement("2.12-02")
@pytest.mark.parametrize(("version", "text", "digest"), prompts())
def test_a_prompt_never_changes_under_its_version(version: str, text: str, digest: str) -> None:
    """2.12-02: Prompt version/hash/text persisted."""
    assert digest == sha256(text.encode()).hexdigest()
    assert RELEASED.get(version) == digest, (
        f"The text of {version} changed or is new: give it a new version and add it to released_prompts.json."
    )


@pytest.mark.requirement("2.12-02")
@pytest.mark.parametrize("each", KINDS, ids=lambda each: each.name)
def test_nothing_that_a_model_is_told_changes_under_a_version(each: Kind) -> None:
    """The note about handling, the tools' descriptions and the closing question are as much prompt as the prompt.

    2.12-02: Prompt version/hash/text persisted.
    """
    assert set(each.bundles) == {step.prompt.version for step in each.steps}
    for version, digest in each.bundles.items():
        assert RELEASED["bundles"].get(version) == digest, (
            f"A text that goes with {version} changed or is new: give it a new version and add it to the bundles in "
            "released_prompts.json."
        )


def test_a_bundle_holds_what_is_said_beside_the_instructions() -> None:
    tool = TOOLS[0]
    said = describe(tool)
    assert tool.name in said
    assert json.dumps(tool.description) in said
    assert describe(replace(tool, description="Another.")) != said
    assert hash_bundle("a", "b") != hash_bundle("ab") != hash_bundle("b", "a")


def test_versions_are_unique() -> None:
    versions = [version for version, _, _ in prompts()]
    assert len(set(versions)) == len(versions)


def test_kinds_are_unique_and_found_by_name() -> None:
    assert len({each.name for each in FLAGGING}) == len(FLAGGING)
    for each in FLAGGING:
        assert flagging_kind(each.name) is each
    with pytest.raises(LookupError):
        flagging_kind("no such kind")


def test_every_kind_in_the_package_is_registered() -> None:
    members = {name for name in vars(Kind) if not name.startswith("_")}
    defined = {
        value
        for module in iter_modules(analyses.__path__)
        for value in vars(import_module(f"analyses.{module.name}")).values()
        if isinstance(value, type) and value not in (Kind, FlaggingKind) and members <= set(dir(value))
    }
    assert defined == {type(each) for each in KINDS}


def test_tools_and_answers_are_strict_schemas() -> None:
    def closed(schema: object) -> None:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
            for value in schema.values():
                closed(value)

    for each in KINDS:
        for schema in (step.schema for step in each.steps if step.schema is not None):
            assert schema["type"] == "object"
            closed(dict(schema))
    for kind in FLAGGING:
        tools = kind.look.tools(Material("X", "https://x.com", "A text."))
        assert len({tool.name for tool in tools}) == len(tools) > 0
        for tool in tools:
            closed(dict(tool.parameters))


def test_steps_are_named_for_their_kind_and_once() -> None:
    names = [step.name for each in KINDS for step in each.steps]
    assert len(set(names)) == len(names)
    for each in KINDS:
        assert all(step.name.startswith(f"{each.name}/") for step in each.steps)
        assert all(TypeAdapter(StepName).validate_python(step.name) for step in each.steps)
