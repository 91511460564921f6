"""Facts beyond dispute, read from `facts/*.toml`, and sentences about them that are right, or wrong in one value.

A table that contradicts itself, or a row without two sources, is refused at load: all generated answers rest on it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

FOLDER: Final = Path(__file__).parent / "facts"
ENGLISH: Final = "en"
YEARS_APART: Final = 2
"""Nearer years are not used as wrong ones: a calendar, a night or a ceremony might excuse them."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact in one language.

    Shapes: `templates` hold `{value}` once; with `value` they are right, with each of `wrong` they are not. `rows` are
    the rows of tables that say so, as `table/key`.
    """

    rows: tuple[str, ...]
    templates: tuple[str, ...]
    value: str
    wrong: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises: ValueError: something is missing, or a wrong value is the right one."""
        if not self.rows or not self.wrong or not self.templates:
            raise ValueError(f"{self.rows}: a fact has rows, sentences and wrong values")
        if self.value.casefold() in {each.casefold() for each in self.wrong}:
            raise ValueError(f"{self.rows}: {self.value!r} is right and wrong")
        if any(each.count("{value}") != 1 for each in self.templates):
            raise ValueError(f"{self.rows}: a sentence states its value once")


def parse_table(name: str, document: str) -> tuple[Row, ...]:
    """The rows of a table, with `sources`, two addresses, and `row`, its name. Raises: ValueError."""
    given = tomllib.loads(document)
    columns, patterns = given["columns"], given["sources"]
    rows: list[Row] = []
    for cells in given["rows"]:
        if len(cells) != len(columns) or not all(isinstance(cell, str) and cell.strip() for cell in cells):
            raise ValueError(f"{name}: a row has one text for each column: {cells}")
        row = dict(zip(columns, cells, strict=True))
        sources = [pattern.format_map(row).replace(" ", "-") for pattern in patterns]
        require_two_sources(f"{name}/{cells[0]}", sources)
        rows.append(row | {"row": f"{name}/{cells[0]}", "sources": " ".join(sources)})
    keys = [row["row"] for row in rows]
    if len(set(keys)) != len(keys):
        raise ValueError(f"{name}: two rows have one key")
    return tuple(rows)


def require_two_sources(name: str, sources: Sequence[str]) -> None:
    """Raises: ValueError: fewer than two hosts, or an encyclopaedia that everybody edits."""
    hosts = {urlsplit(source).hostname or "" for source in sources if source.startswith("https://")}
    if len(hosts) < 2 or len(hosts) != len(sources):
        raise ValueError(f"{name}: needs two sources of different hosts")
    if any(host.endswith(("wikipedia.org", ".example")) for host in hosts):
        raise ValueError(f"{name}: that a wiki says so is no proof, nor is a page that does not exist")


@cache
def read_table(name: str) -> tuple[Row, ...]:
    """A table of this folder. Raises: ValueError."""
    return parse_table(name, (FOLDER / f"{name}.toml").read_text("utf-8"))


@cache
def read_languages() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Sentences by language and relation, and `fillers`, which state nothing that could be checked."""
    given = tomllib.loads((FOLDER / "languages.toml").read_text("utf-8"))
    return {name: {relation: tuple(each) for relation, each in lines.items()} for name, lines in given.items()}


@cache
def facts_in(language: str) -> Mapping[str, tuple[Fact, ...]]:
    """All facts that can be put in this language, by relation."""
    made = dict(_shared(language))
    if language == ENGLISH:
        made |= dict(_english())
    return made


def _shared(language: str) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    elements = read_table("elements")
    yield "symbol-number", _column(language, "symbol-number", elements, "number")
    yield "number-symbol", _column(language, "number-symbol", elements, "symbol")
    planets = [{**row, "planet": row[language]} for row in read_table("planets")]
    yield "planet-number", _column(language, "planet-number", planets, "number")
    yield "capital", _column(language, "capital", _capitals(language), "capital")


def _english() -> Iterator[tuple[str, tuple[Fact, ...]]]:
    elements = read_table("elements")
    yield "name-number", _column(ENGLISH, "name-number", elements, "number")
    yield "name-symbol", _column(ENGLISH, "name-symbol", elements, "symbol")
    yield "element-order", _order("element-order", elements, "name", "number", ("lower", "higher"))
    events = read_table("events")
    yield "event-year", _column(ENGLISH, "event-year", events, "year", apart=YEARS_APART)
    yield "event-order", _order("event-order", events, "named", "year", ("before", "after"), apart=YEARS_APART)
    planets = [{**row, "planet": row[ENGLISH]} for row in read_table("planets")]
    yield "planet-order", _order("planet-order", planets, "planet", "number", ("nearer to", "farther from"))
    yield (
        "constant",
        tuple(
            Fact((row["row"],), (row["said"],), row["value"], tuple(_with_swapped_digits(row["value"])))
            for row in read_table("constants")
        ),
    )


def _capitals(language: str) -> Sequence[Row]:
    if language == ENGLISH:
        return read_table("capitals")
    known = {row["iso"]: row["row"] for row in read_table("capitals")}
    return [
        {**row, "row": known[row["iso"]], "country": row[language], "capital": row[f"{language}_capital"]}
        for row in read_table("capital_names")
    ]


def _column(language: str, relation: str, rows: Sequence[Row], column: str, apart: int = 0) -> tuple[Fact, ...]:
    """One fact a row; the wrong values are the right ones of other rows. Raises: ValueError: rows share a value."""
    values = [row[column] for row in rows]
    if not apart and len(set(values)) != len(values):
        raise ValueError(f"{relation}: two rows share a value, which would be right for both")
    lines = read_languages()[language][relation]
    return tuple(
        Fact(
            (row["row"],),
            tuple(line.replace("{value}", "\0").format_map(row).replace("\0", "{value}") for line in lines),
            row[column],
            tuple(sorted({each for each in values if _differ(each, row[column], apart)})),
        )
        for row in rows
    )


def _differ(one: str, other: str, apart: int) -> bool:
    return one != other if not apart else abs(int(one) - int(other)) >= apart


def _order(
    relation: str, rows: Sequence[Row], name: str, column: str, words: tuple[str, str], apart: int = 1
) -> tuple[Fact, ...]:
    """One fact for each two rows, both ways; the first word says that the first row has the smaller number."""
    lines = read_languages()[ENGLISH][relation]
    facts: list[Fact] = []
    for one, other in permutations(rows, 2):
        distance = int(one[column]) - int(other[column])
        if abs(distance) < apart:
            continue
        right, wrong = words if distance < 0 else words[::-1]
        named = {name: one[name], "other": other[name], "value": "{value}"}
        sentences = tuple(line.format_map(named) for line in lines)
        facts.append(Fact((one["row"], other["row"]), sentences, right, (wrong,)))
    return tuple(facts)


def _with_swapped_digits(value: str) -> Iterator[str]:
    for at, (one, other) in enumerate(pairwise(value)):
        if one.isdigit() and other.isdigit() and one != other:
            yield f"{value[:at]}{other}{one}{value[at + 2 :]}"
