"""Replies of models, results of searches and posts, generated from a seed: whole, damaged and full of traps."""

from __future__ import annotations

import json
from random import Random
from typing import Final

from tests.support.verdicts.given import SCHEMA, Case

WORDS: Final = (
    *("the", "tower", "is", "324 m", "tall", "{", "}", '"', "\\", "```", "<think>", "</THINK>", "<Think>"),
    *("\n", "\r\n", "é", "e\u0301", "😀", "\ud83d", "\ude00", "\u212a", "İ", "ß", "\u0085", "\u00a0"),
    *("\ufeff", "\u2028", "\x1c", "ſ", "1.234", "1,234", "1 234,50", "1,234,5", "3.5%", "€5", "5", "2024"),
    *("2024-02-30", "2024-03-05", "5.3.2024", "3/5/2024", "March 5, 2024", "5. März 2024"),
    *("on 12 of May 1999", "12.300.000", "1’000", "007", "99.90 $", "½", "٣٣"),
)
HOSTS: Final = (
    *("news.example.co.uk", "other.example.co.uk", "example.com", "www.example.com", "x.com"),
    *("old.reddit.com", "ab.t.me", "alice.medium.com", "medium.com", "127.0.0.1", "[::1]", "example.com."),
    *("bücher.example", "a.github.io", "localhost"),
)
ENUM: Final = SCHEMA["properties"]["verdict"]["enum"]
VERDICTS: Final = (
    *ENUM,
    "mostly true",
    "FALSE",
    "Mostly_True",
    "half",
    "",
    "unverifıable",
)
NUMBERS: Final = (
    *("85", "85.0", "8.5e1", "0", "-0", "100", "101", "84.5", '"85"', "1e400", "NaN", "null", "true"),
    "9" * 5000,
)
ZONES: Final = ("Europe/Vienna", "UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "America/Los_Angeles")


class Generator:
    """Draws from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def text(self, most: int = 12) -> str:
        """Some words, with or without spaces."""
        return self._random.choice(["", " "]).join(self._random.choices(WORDS, k=self._random.randrange(most)))

    def url(self) -> str:
        """An address, often of the same few hosts."""
        draw = self._random
        scheme = draw.choice(["https://"] * 8 + ["http://", "", "ftp://"])
        return f"{scheme}{draw.choice(HOSTS)}{draw.choice(['', '/', '/a', '/a/', '/a#b', '/b?c=d', '//', '#'])}"

    def hits(self) -> list[Case]:
        """Results of a search."""
        return [self._hit() for _ in range(self._random.randrange(6))]

    def _hit(self) -> Case:
        draw = self._random
        hit = {"title": self.text(4), "url": self.url(), "snippet": self.text(6)}
        if draw.random() < 0.7:
            hit["date"] = draw.choice(["2020-01-01", "2025-11-22", "2025-11-21", "2026-11-01", "2024-02-30", "soon"])
        return hit

    def answer(self) -> str:
        """An answer as JSON, mostly of the right shape."""
        draw = self._random
        fields = {
            "verdict": json.dumps(draw.choice(VERDICTS)),
            "confidence": draw.choice(NUMBERS) if draw.random() < 0.4 else str(draw.randrange(101)),
            "summary": self._string(),
            "claims": f"[{', '.join(self._pair('claim', 'assessment') for _ in range(draw.randrange(3)))}]",
            "caveats": self._string(),
            "sources": f"[{', '.join(self._pair('title', 'url') for _ in range(draw.randrange(3)))}]",
            "note": draw.choice(["[" * 5 + "]" * 5, "[" * 70 + "]" * 70, "9" * 5000, '{"a": {}}']),
        }
        dropped = draw.choice(["note"] * 6 + ["sources"] * 2 + [draw.choice(list(fields))])
        pairs = [f'"{name}": {value}' for name, value in fields.items() if name != dropped]
        draw.shuffle(pairs)
        return "{" + ", ".join(pairs) + "}"

    def _string(self) -> str:
        words = self.text(5)
        return json.dumps(words, ensure_ascii=self._random.random() < 0.5) if self._random.random() < 0.97 else "7"

    def _pair(self, one: str, other: str) -> str:
        if self._random.random() < 0.02:
            return "null"
        address = json.dumps(self.url()) if other == "url" else self._string()
        return f'{{"{one}": {self._string()}, "{other}": {address}}}'

    def reply(self) -> str:
        """One or more answers with something around, sometimes damaged."""
        draw = self._random
        parts = []
        for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
            answer = self.answer()
            if draw.random() < 0.1:
                at = draw.randrange(len(answer))
                answer = answer[:at] + draw.choice(WORDS) + answer[at + draw.randrange(3) :]
            wrap = draw.choice(
                ["{}", "{}", "```json\n{}\n```", "```\r\n{}```", "<think>{}</think>", "<think>{}", "\ufeff{}"]
            )
            parts += [self.text(4) if draw.random() < 0.5 else "", wrap.replace("{}", answer)]
        return "".join([*parts, self.text(4) if draw.random() < 0.5 else ""])

    def moment(self) -> tuple[str, str]:
        """A time and a zone."""
        draw = self._random
        day = f"{draw.randrange(2000, 2030)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
        return f"{day}T{draw.randrange(24):02}:{draw.randrange(60):02}:00+00:00", draw.choice(ZONES)

    def number(self, most: int) -> int:
        """A number from 0."""
        return self._random.randrange(most + 1)

    def verdict(self) -> str:
        """One of the seven."""
        return str(self._random.choice(ENUM))
