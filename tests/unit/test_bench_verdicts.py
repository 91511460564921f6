"""What a bench says of a figure that misses its target on cores it had to share."""

from __future__ import annotations

import pytest

from tests.bench.pace import Sample, Speed, quietest, speed_between
from tests.bench.report import Report, Target, at_least, at_most, of_raw


@pytest.mark.parametrize(
    ("target", "figure", "speed", "said", "below"),
    [
        (at_least(100), 100, Speed(0.5), "ok", 0),
        (at_least(100), 60, Speed(0.5), "BELOW; the cores had 0.50 of their pace, 120 by calculation at all of it", 1),
        (at_least(100), 40, Speed(0.5), "BELOW; the cores had 0.50 of their pace, 80 by calculation at all of it", 1),
        (at_least(100), 99, Speed(1.0), "BELOW; the cores had 1.00 of their pace, 99 by calculation at all of it", 1),
        (at_least(100), 99, None, "BELOW", 1),
        (at_most(15), 20, Speed(0.7), "BELOW; the cores had 0.70 of their pace, 14 by calculation at all of it", 1),
        (at_most(15), 20, Speed(0.8), "BELOW; the cores had 0.80 of their pace, 16 by calculation at all of it", 1),
        (of_raw(0.5), 1, Speed(0.1), "BELOW", 1),
    ],
)
def test_what_was_measured_decides_however_fast_the_cores_were(
    capsys: pytest.CaptureFixture[str], target: Target, figure: float, speed: Speed | None, said: str, below: int
) -> None:
    report = Report()
    report.line("a figure", figure, "", ratio=0.4 if target.of == "ratio" else None, target=target, speed=speed)
    assert capsys.readouterr().out.rstrip().endswith(f" {said}")
    assert report.below == below


def test_the_speed_of_a_while_is_measured_by_the_fastest_ever() -> None:
    samples = [Sample(float(n), 1e-3 if n < 50 else 2e-3) for n in range(100)]
    assert speed_between(samples, 0, 49) == pytest.approx(1.0)
    assert speed_between(samples, 50, 99) == pytest.approx(0.5)
    assert speed_between(samples, 25, 74) == pytest.approx(2 / 3)
    assert speed_between(samples, 200, 300) == 1.0


def test_a_round_is_chosen_by_its_quiet_not_by_what_it_brought() -> None:
    assert quietest([(Speed(0.6), 300), (Speed(0.9), 100), (Speed(0.7), 200)]) == (Speed(0.9), 100)
