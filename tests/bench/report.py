"""Prints figures: one line each with its unit, its ratio to a raw limit of the same run, and its target.

A figure without its own run's raw limit says more about the machine than about us, so targets are ratios wherever a
limit can be measured. Otherwise a figure that misses its target is printed with the speed of the cores.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

from tests.bench.pace import Pace, Speed


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure, or its ratio to the raw limit, shall be."""

    sign: Literal[">=", "<=", "within"]
    limit: float
    of: Literal["figure", "ratio"] = "figure"

    def met(self, figure: float, ratio: float | None) -> bool:
        """Whether the figure or its ratio reaches the target."""
        value = ratio if self.of == "ratio" else figure
        if value is None:
            return False
        if self.sign == "within":
            return 1 - self.limit <= value <= 1 / (1 - self.limit)
        return value >= self.limit if self.sign == ">=" else value <= self.limit

    def at_full_pace(self, figure: float, speed: Speed) -> float:
        """The figure as if nothing but the cores' speed mattered: a rate is higher, a time shorter. An estimate."""
        return figure / speed.of_full if self.sign == ">=" else figure * speed.of_full

    def __str__(self) -> str:
        if self.sign == "within":
            return f"{1 - self.limit:.2f} to {1 / (1 - self.limit):.2f}"
        return f"{self.sign} {self.limit:.2f} of raw" if self.of == "ratio" else f"{self.sign} {_short(self.limit)}"


def at_least(limit: float) -> Target:
    """The figure itself shall reach a limit."""
    return Target(">=", limit)


def at_most(limit: float) -> Target:
    """The figure itself shall not exceed a limit."""
    return Target("<=", limit)


def of_raw(limit: float) -> Target:
    """The ratio to the raw limit shall reach this."""
    return Target(">=", limit, of="ratio")


def within(part: float) -> Target:
    """The ratio shall differ from 1 by no more than this, in either direction."""
    return Target("within", part, of="ratio")


class Report:
    """Prints lines as they come and counts targets that were not met, and what failed on any machine."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace
        self.below = 0
        self.failures = 0

    def watched(self) -> AbstractContextManager[Speed]:
        """The speed that the cores have inside; their full speed if nobody looks."""
        return nullcontext(Speed()) if self._pace is None else self._pace.watched()

    def head(self, title: str) -> None:
        """Begin a bench; the load average says how much the machine had to do besides."""
        print(f"\n{title}  (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)

    def line(
        self,
        name: str,
        figure: float,
        unit: str,
        *,
        ratio: float | None = None,
        target: Target | None = None,
        speed: Speed | None = None,
        of: str = "raw",
    ) -> None:
        """One figure and its ratio to what `of` names.

        `speed` is what the cores gave while it was measured, where it depends on their speed.
        """
        verdict = "" if target is None else self._verdict(target, figure, ratio, speed)
        part = "" if ratio is None else f"{ratio:.2f} of {of}"
        aim = "" if target is None else str(target)
        text = f"  {name:<46} {_short(figure):>8} {unit:<10} {part:>12}  {aim:>14}  {verdict}"
        print(text.rstrip(), flush=True)

    def _verdict(self, target: Target, figure: float, ratio: float | None, speed: Speed | None) -> str:
        """The verdict on a figure: the measurement decides; the cores' speed only explains it."""
        if target.met(figure, ratio):
            return "ok"
        self.below += 1
        if speed is None or target.of == "ratio":
            return "BELOW"
        return f"BELOW; {speed}, {_short(target.at_full_pace(figure, speed))} by calculation at all of it"

    def fail(self, text: str) -> None:
        """One line about a failure that no noise of the machine excuses."""
        self.failures += 1
        self.note(f"FAILED: {text}")

    def note(self, text: str) -> None:
        """One line without a figure."""
        print(f"  {text}", flush=True)


def _short(figure: float) -> str:
    return (
        f"{figure:,.0f}"
        if figure >= 100 or figure == int(figure)
        else f"{figure:.1f}"
        if figure >= 10
        else f"{figure:.2f}"
    )
