"""Recorded answers replay without a provider; what was not recorded fails, whatever is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from analyses.evidence import Evidence
from contracts.v1.parts import CheckedSource, Source
from kit.models.base import Limits, Sampling
from tests.bench import bench_cases, casebook
from tests.bench.bench_cases import Options
from tests.bench.casebook import Post
from tests.bench.casereport import print_report
from tests.bench.caserun import Result, World, run
from tests.bench.recordings import (
    MissingRecording,
    RecordedModel,
    RecordedSources,
    RecordingModel,
    RecordingSources,
    hash_brief,
)
from tests.bench.report import Report
from tests.support.factories import MODEL
from tests.support.fakes import ScriptedModel
from tests.support.openai_server import Answer, message
from tests.support.providers import OPENAI, TOOLS, brief, provider, submit

BATS = next(post for post in casebook.posts() if post.id == "false-bats")
SNIPPET = "No species of bat is blind at all."
FINDING = {
    "text": "Bats are blind.",
    "context": "Bats are blind.",
    "summary": "They see.",
    "reasoning": "All species see.",
    "sources": [
        {"url": "https://bats.example/eyes", "title": "Bats", "snippet": SNIPPET},
        {"url": "https://zoo.example/questions", "title": "Questions", "snippet": "Every bat in our house can see."},
    ],
}
TURNS = (
    Answer((submit("a", FINDING),)),
    Answer((message("done"),)),
    Answer((message('{"approved": true, "reason": "The source says so."}'),)),
)


class Found:
    """A web in which every page says what it is cited for."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        return tuple(Evidence(CheckedSource(url=each.url, status="found"), each.snippet) for each in sources)


async def record(folder: Path) -> Result:
    """Ask a provider on the loopback about the post, once."""
    async with provider(OPENAI, *TURNS) as (model, _):
        return await run(BATS, RecordingModel(model, folder), World(sources=RecordingSources(Found(), folder)))


async def replay(folder: Path, post: Post = BATS) -> Result:
    """The same without a provider."""
    (result,) = await bench_cases.run_all(RecordedModel(folder), [post], Options(recordings=folder))
    return result


async def test_a_recorded_run_has_the_same_result_without_a_provider(tmp_path: Path) -> None:
    recorded = await record(tmp_path)
    assert recorded.hits == {"Bats are blind."}
    assert await replay(tmp_path) == recorded


async def test_what_a_model_proposed_has_to_pass_the_gates_that_the_settings_ask_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(tmp_path)
    monkeypatch.setenv("OPENERRATA_VALIDATOR_GATE_FAMILIES", "3")
    result = await replay(tmp_path)
    assert (result.claims, result.failure) == ((), None)
    assert [each.gate for each in result.refused] == ["families"]


@pytest.mark.requirement("TR-41")
@pytest.mark.parametrize("change", [{"text": f"{BATS.text} Indeed."}, {"platform": "X"}])
async def test_what_was_not_recorded_is_no_pass(
    tmp_path: Path, change: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    await record(tmp_path)
    result = await replay(tmp_path, BATS.model_copy(update=change))
    assert result.failure is not None
    report = Report()
    print_report([result], report)
    assert report.failures == 1
    assert "There is no recording of this step" in capsys.readouterr().out


@pytest.mark.requirement("TR-41")
def test_each_missing_file_is_a_failure(tmp_path: Path) -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    asyncio.run(record(tmp_path))
    files = [file for file in tmp_path.iterdir() if file.name != "model.json"]
    assert len(files) == 4, "a run, a review and two sources"
    for file in files:
        kept = file.read_bytes()
        file.unlink()
        result = asyncio.run(replay(tmp_path))
        assert result.failure is not None
        assert "no recording" in result.failure
        assert result.claims == ()
        file.write_bytes(kept)


def test_a_recording_belongs_to_all_that_a_model_is_asked() -> None:
    asked = brief()
    others = [
        hash_brief(MODEL.model_copy(update={"model": "another"}), asked),
        hash_brief(MODEL, replace(asked, instructions="other instructions")),
        hash_brief(MODEL, replace(asked, parts=("another article",))),
        hash_brief(MODEL, replace(asked, tools=TOOLS[:1])),
        hash_brief(MODEL, replace(asked, schema={"type": "object"})),
        hash_brief(MODEL, replace(asked, step="FACT_CHECK/review")),
        hash_brief(MODEL, replace(asked, sampling=Sampling(temperature=0.0))),
    ]
    assert len({hash_brief(MODEL, asked), *others}) == len(others) + 1
    assert hash_brief(MODEL, replace(asked, limits=Limits(tokens=1))) == hash_brief(MODEL, asked)


def test_a_folder_is_of_one_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no recordings"):
        RecordedModel(tmp_path)
    RecordingModel(ScriptedModel(), tmp_path)
    assert RecordedModel(tmp_path).name == MODEL
    with pytest.raises(ValueError, match="recordings of"):
        RecordingModel(ScriptedModel(name=MODEL.model_copy(update={"model": "another"})), tmp_path)


async def test_a_source_that_was_not_looked_up_is_missing(tmp_path: Path) -> None:
    source = Source(url="https://bats.example/eyes", title="Bats", snippet=SNIPPET)
    with pytest.raises(MissingRecording, match=r"bats\.example"):
        await RecordedSources(tmp_path).check((source,))
