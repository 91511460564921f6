"""How much of an article is found, and how much beside it: against published sets, and against marks alone.

Measured as the Article Extraction Benchmark of Scrapinghub does: words are runs of letters and digits, and what is
compared are their sequences of four, with repetitions; precision and recall are means over pages, F1 is of the means.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import mean, median
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from kit.documents.article import ReadArticle, read_article
from kit.documents.decoding import Unreadable, decode
from kit.documents.readable import read_document
from kit.documents.reading import Reader
from tests.bench.article_sets import Expected, load
from tests.bench.report import Report, at_least, at_most

FLOOR: Final = 0.95
POOR: Final = 0.9
MARKED_WORDS: Final = 100
_WORD: Final = re.compile(r"\w+")
_BY: Final = frozenset({"by", "von", "par", "por", "and", "und", "et", "y"})


@dataclass(frozen=True)
class Score:
    """Of one page."""

    precision: float
    recall: float


def bench(folder: Path, report: Report) -> None:
    """Raises: SystemExit: below the floor, since nothing here depends on the machine."""
    report.head("articles: sequences of four words")
    pages = load()
    found = [read_article(each.page, "text/html") for each in pages]
    scores = [score(each.text, article.text) for each, article in zip(pages, found, strict=True)]
    reached = f1(scores)
    report.line(f"F1 of the article, {len(pages)} pages", reached * 100, "%", target=at_least(FLOOR * 100))
    report.line("  precision", mean(each.precision for each in scores) * 100, "%")
    report.line("  recall", mean(each.recall for each in scores) * 100, "%")
    for name in dict.fromkeys(each.name.partition(":")[0] for each in pages):
        part = [one for each, one in zip(pages, scores, strict=True) if each.name.startswith(name)]
        report.line(f"  {name}, {len(part)} pages", f1(part) * 100, "%")
    marked = [score(each.text, marked_part(each.page)) for each in pages]
    report.line("F1 of the longest marked part", f1(marked) * 100, "%")
    report.line("  precision", mean(each.precision for each in marked) * 100, "%")
    said(report, pages, found)
    asyncio.run(in_child(report, pages))
    for each, one in zip(pages, scores, strict=True):
        if min(one.precision, one.recall) < POOR:
            report.note(f"{each.name}: precision {one.precision:.2f}, recall {one.recall:.2f}")
    if reached < FLOOR:
        raise SystemExit(f"the articles found have an F1 of {reached:.3f}, below {FLOOR}")


def said(report: Report, pages: Sequence[Expected], found: Sequence[ReadArticle]) -> None:
    """Shares of titles, authors and days that are right, where the set states them; and walls that were seen."""
    both = list(zip(pages, found, strict=True))
    titles = [alike(article.title, each.title) for each, article in both if each.title]
    authors = [alike(article.author, each.authors) for each, article in both if each.authors]
    days = [article.published == each.day for each, article in both if each.day]
    for name, right in (("titles", titles), ("authors", authors), ("days", days)):
        report.line(f"{name} that are right, of {len(right)}", mean(right) * 100, "%")
    for each, article in both:
        if article.wall:
            report.note(f"{each.name}: a wall of {article.wall}")


async def in_child(report: Report, pages: Sequence[Expected]) -> None:
    """Read the pages as production does, each in a process of its own, and report."""
    reader, taken, refused = Reader(within_s=60), [], 0
    for each in pages:
        before = getrusage(RUSAGE_CHILDREN)
        try:
            await reader.read_article(each.page, "text/html")
        except Unreadable:
            refused += 1
        after = getrusage(RUSAGE_CHILDREN)
        taken.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    report.line("processor time of a page with its process", median(taken), "ms", target=at_most(1_000))
    report.line("  of the slowest", max(taken), "ms")
    report.line("memory of the largest child", getrusage(RUSAGE_CHILDREN).ru_maxrss / 1024, "MiB", target=at_most(500))
    report.line("pages that the child refused", refused, "", target=at_most(0))


def score(true: str, predicted: str) -> Score:
    """The score of one page: the sequences that both texts have, divided by those of each."""
    wanted, got = shingles(true), shingles(predicted)
    common = (wanted & got).total()
    return Score(common / got.total() if got else 0.0, common / wanted.total() if wanted else 1.0)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Sequences of four words; of fewer words, all of them."""
    words = _WORD.findall(text)
    return Counter(tuple(words[start : start + 4]) for start in range(max(1, len(words) - 3)) if words)


def f1(scores: Sequence[Score]) -> float:
    """The F1 of mean precision and mean recall."""
    precision, recall = mean(each.precision for each in scores), mean(each.recall for each in scores)
    return 2 * precision * recall / (precision + recall)


def marked_part(page: bytes) -> str:
    """The longest part that a page marks as its article, else all of it: the rule that a library replaced."""
    parts = [node.html or "" for node in LexborHTMLParser(decode(page, "text/html")).css("article,main,[role=main]")]
    texts = [read_document(f"<!doctype html>{part}".encode(errors="replace"), "text/html").text for part in parts[:20]]
    longest = max(texts, key=len, default="")
    return longest if len(longest.split()) >= MARKED_WORDS else read_document(page, "text/html").text


def alike(found: str | None, expected: str | None) -> bool:
    """Whether one holds the other's words: titles carry the name of their site or not, bylines a place or an office."""
    some, others = words_of(found), words_of(expected)
    return bool(some) and (some <= others or others <= some)


def words_of(text: str | None) -> frozenset[str]:
    """The words of a name or a title, case-folded."""
    return frozenset(word.casefold() for word in _WORD.findall(text or "")) - _BY
