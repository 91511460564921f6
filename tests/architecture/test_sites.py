"""A site is named in its own module and in the list of platforms, and nowhere else in our sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from platforms import PLATFORMS
from tests.architecture.sources import PACKAGES, ROOT

LIST: Final = "platforms/__init__.py"
ALLOWED: Final = {
    LIST: "the list",
    "contracts/v1/parts.py": "an example of a post's name in the events' schemas",
    "kit/embedded/lock.py": "X is a state of a process",
    "services/commands/demo.py": "the demonstration is of one article on one site",
    "services/commands/demo_site.py": "the demonstration is of one article on one site",
    "services/commands/post.py": "an example of an address in the help",
}
KINDS: Final = (".py", ".html")


def words(names: set[str]) -> re.Pattern[str]:
    """What names a site: long names in any spelling, also inside other words; short ones as whole words."""
    long = "|".join(sorted(name for name in names if len(name) > 2))
    short = "|".join(sorted(name for name in names if len(name) <= 2))
    return re.compile(rf"(?i:{long})|\b(?:{short})\b")


def naming(root: Path, pattern: re.Pattern[str], own: set[str]) -> Iterator[tuple[str, int]]:
    """Every place that names a site, outside the sites' own modules. Migrations are frozen."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            place = path.relative_to(root).as_posix()
            if path.suffix not in KINDS or place.startswith("kit/migrations/") or place.split(".")[0] in own:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if pattern.search(line):
                    yield place, number


def own_modules() -> set[str]:
    """The sites' modules, and those that belong to one of them by their name."""
    modules = {path.stem for path in (ROOT / "platforms").glob("*.py")}
    sites = {site.name.lower() for site in PLATFORMS}
    return {f"platforms/{name}" for name in modules if name.partition("_")[0] in sites}


def test_a_site_is_named_in_its_own_module_alone() -> None:
    names = {name for site in PLATFORMS for name in (site.name, site.display_name)}
    found = set(naming(ROOT, words(names), own_modules()))
    assert sorted(f"{place}:{number}" for place, number in found if place not in ALLOWED) == []
    assert set(ALLOWED) == {place for place, _ in found}, "an exception that nobody needs is one too many"


def test_whatever_names_a_site_is_found(tmp_path: Path) -> None:
    given = {
        "services/a.py": 'if platform == "WIKIPEDIA":\n    pass\n',
        "kit/b.py": "lesswrong_url = None\n",
        "contracts/c.py": 'class XMetadata: ...\nNAMES = ("X",)\n',
        "services/d.html": "<p>On Substack</p>\n",
        "kit/migrations/e.py": "lesswrong = 1\n",
        "platforms/x.py": 'name = "X"\n',
    }
    for name, text in given.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = {"WIKIPEDIA", "Wikipedia", "LESSWRONG", "X", "SUBSTACK"}
    assert set(naming(tmp_path, words(names), {"platforms/x"})) == {
        ("services/a.py", 1), ("kit/b.py", 1), ("contracts/c.py", 2), ("services/d.html", 1),
    }  # fmt: skip
