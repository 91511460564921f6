"""A report of the gate tier is read strictly: a part of one, or one of another tier, says nothing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from accuracy.facts import GateTier
from services.commands.gate_tier import TierReport, read_gate_tier
from tests.architecture.sources import ROOT
from tests.bench import __main__ as bench
from tests.bench import bench_cases
from tests.bench.casebook import posts
from tests.bench.casereport import print_report
from tests.bench.caserun import Result
from tests.bench.report import Report
from tests.support.command_line import commands


def write(folder: Path, capsys: pytest.CaptureFixture[str], tier: str = "gate", failure: str | None = None) -> Path:
    """What the bench prints, by its own code."""
    report = Report()
    report.head(f"posts with known answers, {tier}, openai gpt 5")
    print_report([Result(post, failure=failure) for post in posts()[:3]], report)
    print("\ntook 9 s; no target(s) below")
    file = folder / "report.txt"
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.parametrize(("failure", "state"), [(None, GateTier.CLEAN), ("no recording", GateTier.FAILED)])
def test_what_the_bench_prints_is_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failure: str | None, state: GateTier
) -> None:
    assert read_gate_tier(write(tmp_path, capsys, failure=failure)) == TierReport(state, "openai", "gpt 5")


def test_a_false_flag_is_not_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, capsys)
    lines = [
        line.replace(" 0 ", " 1 ", 1) if line.startswith("  false flags") else line
        for line in file.read_text().splitlines()
    ]
    file.write_text("\n".join(lines))
    assert read_gate_tier(file).state is GateTier.FAILED


@pytest.mark.parametrize("spoil", ["commit", "cut", "twice", "missing", "bytes"])
def test_anything_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: str) -> None:
    file = write(tmp_path, capsys, "commit" if spoil == "commit" else "gate")
    text = file.read_text()
    if spoil == "cut":
        file.write_text(text[: text.index("took")])
    if spoil == "twice":
        file.write_text(text + text)
    if spoil == "missing":
        file.unlink()
    if spoil == "bytes":
        file.write_bytes(b"\xff")
    with pytest.raises(click.ClickException, match="report"):
        read_gate_tier(file)


def test_the_tier_can_be_run_as_the_commands_and_the_guide_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = dict(commands())
    helps = [str(shown[name,].help) for name in ("breaker", "variant")]
    guide = (ROOT / "docs" / "operations" / "tasks.md").read_text()
    lines = [re.findall(r"python -m tests\.bench (cases --tier gate[^>`]*) >", text) for text in (*helps, guide)]
    assert all(lines), "it is not shown everywhere"
    asked: list[bench_cases.Options] = []
    monkeypatch.setattr(bench_cases, "bench", lambda folder, report, options: asked.append(options))
    for (line,) in lines:
        monkeypatch.setattr(sys, "argv", ["bench", *line.split()])
        assert bench.main() == 0, capsys.readouterr().err
    assert {(each.tier, each.live) for each in asked} == {("gate", True)}
