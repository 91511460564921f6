"""The layout of charts: coordinates of columns and points. Templates draw them and repeat the values as tables.

Units: those of the drawing, whose width is WIDTH; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT: Final = 44
TOP: Final = 14
BOTTOM: Final = 26
WIDEST: Final = 64
_FLOOR: Final = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a chart. `part` is a portion that is shown separately; `height` None: no value."""

    label: str
    caption: str
    height: float | None
    part: float = 0.0
    named: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its separate part is at its foot."""

    x: float
    y: float
    width: float
    height: float
    part_y: float
    part_height: float
    middle: float
    value: Value


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal grid line with its label."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart ready to be drawn."""

    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    lines: tuple[str, ...]
    """The path of each unbroken segment of points."""

    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    floor: int = _FLOOR


def layout_chart(values: Sequence[Value], *, as_percent: bool = False, unit: str = "") -> Chart:
    """Lay out columns, and the line through their tops. `unit` is a prefix of values that need not be whole."""
    highest = max((value.height or 0.0 for value in values), default=0.0)
    steps = choose_steps(highest, whole=not (as_percent or unit))
    top = steps[-1]
    room = _FLOOR - TOP
    slot = (WIDTH - LEFT - 8) / max(1, len(values))
    columns = []
    for n, value in enumerate(values):
        tall, part = room * (value.height or 0.0) / top, room * value.part / top
        width = min(WIDEST, slot * 0.72)
        columns.append(
            Column(
                x=round(LEFT + (n + 0.5) * slot - width / 2, 1),
                y=round(_FLOOR - tall, 1),
                width=round(width, 1),
                height=round(tall, 1),
                part_y=round(_FLOOR - part, 1),
                part_height=round(part, 1),
                middle=round(LEFT + (n + 0.5) * slot, 1),
                value=value,
            )
        )
    ticks = tuple(
        Tick(round(_FLOOR - room * step / top, 1), _format_tick(step, as_percent=as_percent, unit=unit))
        for step in steps
    )
    return Chart(tuple(columns), ticks, _paths(columns))


def _paths(columns: Sequence[Column]) -> tuple[str, ...]:
    segments: list[list[Column]] = [[]]
    for column in columns:
        if column.value.height is None:
            segments.append([])
        else:
            segments[-1].append(column)
    return tuple(
        "M" + " L".join(f"{column.middle} {column.y}" for column in segment) for segment in segments if len(segment) > 1
    )


def choose_steps(highest: float, *, whole: bool) -> tuple[float, ...]:
    """Round steps from zero to at least the highest value; steps of counts are whole. Shapes: 2 to 6 steps."""
    if highest < 1e-9:
        return (0.0, 1.0)
    rough = highest / 4
    power = 10.0 ** floor(log10(rough))
    step = next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= rough * 0.999)
    if whole:
        step = float(max(1, ceil(step)))
    return tuple(step * n for n in range(max(1, ceil(round(highest / step, 6))) + 1))


def _format_tick(step: float, *, as_percent: bool, unit: str) -> str:
    if unit:
        return f"{unit}{step:g}"
    return f"{step * 100:g} %" if as_percent else f"{step:,.0f}"
