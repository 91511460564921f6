"""Every analysis is registered, named, and keeps its word about its prompts."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import analyses
from analyses import ANALYSES, analysis
from analyses.base import Analysis, bundled, told

RELEASED = json.loads((Path(__file__).parent / "released_prompts.json").read_text("utf-8"))


def prompts() -> list[tuple[str, str, str]]:
    return [
        (p.version, p.text, p.sha256)
        for each in ANALYSES
        for p in (each.prompt, each.update_prompt, each.review_prompt)
    ]


@pytest.mark.requirement("2.12-02")
@pytest.mark.parametrize(("version", "text", "digest"), prompts())
def test_a_prompt_never_changes_under_its_version(version: str, text: str, digest: str) -> None:
    assert digest == sha256(text.encode()).hexdigest()
    assert RELEASED.get(version) == digest, (
        f"The text of {version} changed or is new: give it a new version and add it to released_prompts.json."
    )


@pytest.mark.requirement("2.12-02")
@pytest.mark.parametrize("each", ANALYSES, ids=lambda each: each.kind)
def test_nothing_that_a_model_is_told_changes_under_a_version(each: Analysis) -> None:
    """The note about handling, the tools' descriptions and the closing question are as much prompt as the prompt."""
    assert set(each.bundles) == {each.prompt.version, each.update_prompt.version, each.review_prompt.version}
    for version, digest in each.bundles.items():
        assert RELEASED["bundles"].get(version) == digest, (
            f"A text that goes with {version} changed or is new: give it a new version and add it to the bundles in "
            "released_prompts.json."
        )


def test_a_bundle_holds_what_is_said_beside_the_instructions() -> None:
    tool = analysis("FACT_CHECK").tools[0]
    said = told(tool)
    assert tool.name in said
    assert json.dumps(tool.description) in said
    assert told(replace(tool, description="Another.")) != said
    assert bundled("a", "b") != bundled("ab") != bundled("b", "a")


def test_versions_are_unique() -> None:
    versions = [version for version, _, _ in prompts()]
    assert len(set(versions)) == len(versions)


def test_kinds_are_unique_and_found_by_name() -> None:
    assert len({each.kind for each in ANALYSES}) == len(ANALYSES)
    for each in ANALYSES:
        assert analysis(each.kind) is each
    with pytest.raises(LookupError):
        analysis("no such kind")


def test_every_analysis_in_the_package_is_registered() -> None:
    members = {name for name in vars(Analysis) if not name.startswith("_")}
    defined = {
        value
        for module in iter_modules(analyses.__path__)
        for value in vars(import_module(f"analyses.{module.name}")).values()
        if isinstance(value, type) and value is not Analysis and members <= set(dir(value))
    }
    assert defined == {type(each) for each in ANALYSES}


def test_tools_and_answers_are_strict_schemas() -> None:
    def closed(schema: object) -> None:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
            for value in schema.values():
                closed(value)

    for each in ANALYSES:
        closed(dict(each.review_schema))
        assert dict(each.review_schema)["type"] == "object"
        assert len({tool.name for tool in each.tools}) == len(each.tools) > 0
        for tool in each.tools:
            closed(dict(tool.parameters))
