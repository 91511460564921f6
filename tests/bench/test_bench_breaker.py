"""The simulation of the breaker: the worse a variant, the sooner it is stopped, and the same seed says the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import median

import pytest

from accuracy.volume import Full, Limited, Volume
from tests.bench import bench_breaker
from tests.bench.__main__ import main
from tests.bench.bench_breaker import RATES, STARTS, WITHIN, bench, is_seen_by_evidence, share_seen, simulate
from tests.bench.report import Report

LIVES = 200


@pytest.mark.parametrize("start", [Limited(), Full()])
def test_higher_rates_trip_sooner(start: Volume) -> None:
    lives = {rate: [simulate(rate, start, Random(f"{rate} {seed}")) for seed in range(LIVES)] for rate in RATES}
    days = [median(life.days for life in lives[rate]) for rate in RATES]
    assert days == sorted(days, reverse=True)
    assert days[0] > 10 * days[-1]
    for rate, found in lives.items():
        assert all(life.false_flags <= life.flags and life.stopped_by for life in found)
        within = sum(life.controls <= WITHIN for life in found) / LIVES
        assert within >= share_seen(rate) - 3 * (0.25 / LIVES) ** 0.5, "reviews only add to what controls see"
        whole = sum(life.flags for life in found)
        assert sum(life.false_flags for life in found) == pytest.approx(rate * whole, rel=0.5)


def test_a_new_variant_shows_less_than_one_that_has_earned_all() -> None:
    new, full = (
        median(simulate(0.01, start, Random(seed)).false_flags for seed in range(LIVES)) for start in STARTS.values()
    )
    assert new < full


@pytest.mark.parametrize(("rate", "share"), [(0.01, 0.951), (0.005, 0.778), (0.002, 0.452)])
def test_what_three_hundred_controls_see(rate: float, share: float) -> None:
    assert share_seen(rate) == pytest.approx(share, abs=5e-4)
    assert sum(is_seen_by_evidence(rate, Random(seed)) for seed in range(LIVES)) / LIVES < share / 2


def test_the_same_seed_prints_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in (7, 7, 8):
        bench(tmp_path, Report(), seed, lives=40)
        lines = capsys.readouterr().out.splitlines()
        printed.append(
            ([line for line in lines if "FalseFlag" in line], [line for line in lines if "above 20" in line])
        )
    assert printed[0] == printed[1]
    assert printed[0][0] != printed[2][0]
    assert printed[0][1] != printed[2][1]
    assert len(printed[0][0]) == len(RATES) * len(STARTS)


def test_the_command_takes_a_seed_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = []

    def note(folder: Path, report: Report, seed: int) -> None:
        seeds.append(seed)

    monkeypatch.setattr(bench_breaker, "bench", note)
    monkeypatch.setattr("sys.argv", ["bench", "breaker", "--seed", "9"])
    assert (main(), seeds) == (0, [9])
    monkeypatch.setattr("sys.argv", ["bench", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert "--seed" in capsys.readouterr().out
