"""Documents are in one form, short where they promise it, and point at what exists inside this repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sources import ROOT, texts

DOCS: Final = ROOT / "docs"
RECORDS: Final = sorted((DOCS / "decisions").glob("[0-9]*.md"))
HEAD: Final = re.compile(
    r"# (?P<number>\d{4}) (?P<title>\S.+)\n\nDate: (?P<date>\d{4}-\d\d-\d\d)\. "
    r"Status: (?P<status>accepted|(?:amended|superseded) by "
    r"(?P<by>\[\d{4}\]\(\S+\.md\)(?:, \[\d{4}\]\(\S+\.md\))*))\.\n\n"
)
SECTIONS: Final = ["Context", "Decision", "Refused", "Revisit when"]
LINK: Final = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
WORDS: Final = {"docs/architecture.md": 1_800}
ELSEWHERE: Final = re.compile(
    r"\b(CONTRACT|REQUIREMENTS|STACK|PIPELINE|READMODEL|HOUSE|TRUST|AUDITS|VERDICTS)(\.md| (section )?\d)"
)
"""Documents that the system was designed after, and that whoever has only this repository cannot read."""


def pages() -> Iterator[tuple[str, str]]:
    """Every Markdown file, with its path."""
    return ((path, text) for path, text in texts() if path.endswith(".md"))


def anchor(heading: str) -> str:
    """What a heading is linked by."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken(path: str, text: str) -> Iterator[str]:
    """Links of a page to files and headings that are not there."""
    for target, heading in LINK.findall(text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        file = (ROOT / path).parent / target if target else ROOT / path
        if not file.exists():
            yield f"{path}: {target}"
        elif heading and file.suffix == ".md":
            found = {anchor(each) for each in re.findall(r"^#+ (.+)$", file.read_text(), re.M)}
            if heading not in found:
                yield f"{path}: {target}#{heading}"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name[:4])
def test_a_decision_has_number_title_date_status_and_its_sections(record: Path) -> None:
    text = record.read_text()
    head = HEAD.match(text)
    assert head is not None, text[:200]
    assert record.name.startswith(f"{head['number']}-")
    assert date(2026, 1, 1) <= date.fromisoformat(head["date"])
    found = [each for each in re.findall(r"^## (.+)$", text, re.M) if each in SECTIONS]
    assert found == SECTIONS
    for number, file in re.findall(r"\[(\d{4})\]\((\S+\.md)\)", head["by"] or ""):
        assert file.startswith(number)
        assert (record.parent / file).is_file()


def test_the_index_lists_every_decision_as_it_says_itself() -> None:
    index = (DOCS / "decisions" / "README.md").read_text()
    rows = re.findall(r"^\| \[(\d{4})\]\((\S+)\) \| (.+) \| (\S+) \| (.+) \|$", index, re.M)
    wanted = []
    for record in RECORDS:
        head = HEAD.match(record.read_text())
        assert head is not None, record.name
        status = re.sub(r"\[(\d{4})\]\(\S+?\)", r"\1", head["status"])
        wanted.append((head["number"], record.name, head["title"], head["date"], status))
    assert rows == wanted


@pytest.mark.parametrize(
    "wrong",
    [
        "# 7 A title\n\nDate: 2026-11-20. Status: accepted.\n\n",
        "# 0007 A title\n\nStatus: accepted.\n\n",
        "# 0007 A title\n\nDate: 2026-11-20. Status: draft.\n\n",
        "# 0007 A title\n\nDate: 2026-11-20. Status: superseded by 0009.\n\n",
    ],
)
def test_another_form_is_noticed(wrong: str) -> None:
    assert HEAD.match(wrong) is None


def test_every_link_leads_somewhere() -> None:
    assert [found for path, text in pages() for found in broken(path, text)] == []


def test_a_broken_link_is_noticed() -> None:
    text = "[a](nowhere.md) [b](README.md#no-such-heading) [c](README.md#licence) [d](https://example.org)"
    assert list(broken("README.md", text)) == ["README.md: nowhere.md", "README.md: README.md#no-such-heading"]


def test_the_readme_names_every_folder_and_every_service() -> None:
    rows = re.findall(r"^\| `([a-z/]+)/` \| (.+)$", (ROOT / "README.md").read_text(), re.M)
    tracked = [Path(path).parts for path, _ in texts()]
    assert {name.split("/")[0] for name, _ in rows} == {
        parts[0] for parts in tracked if len(parts) > 1 and parts[0][0] != "."
    }
    services = {parts[1] for parts in tracked if parts[0] == "services" and len(parts) > 2} - {"commands"}
    assert set(re.findall(r"`(\w+)`", dict(rows)["services"].split("|")[0])) == services


@pytest.mark.parametrize(("path", "most"), WORDS.items())
def test_a_document_is_no_longer_than_it_promises(path: str, most: int) -> None:
    assert len((ROOT / path).read_text().split()) <= most


def test_nothing_cites_a_document_that_is_not_here() -> None:
    cited = [
        f"{path}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if ELSEWHERE.search(line) and path != "tests/architecture/test_documents.py"
    ]
    assert cited == []
