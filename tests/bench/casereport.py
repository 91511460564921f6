"""Reports outcomes of posts with known answers, by kind and by language, with exact one-sided bounds at 95 %.

Units: a bound's trials are completed posts or their right sentences. Sentences of one post, and posts that share a row
of a table, are no independent trials, so bounds are nominal where posts are generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from accuracy.bounds import lower_bound, upper_bound
from tests.bench.casebook import Kind, Post
from tests.bench.caserun import Result
from tests.bench.report import Report, at_least, at_most

MICRO: Final = 1_000_000
TEN_THOUSAND: Final = 10_000
_NAMED_AT_MOST: Final = 40
_HEAD: Final = (
    f"{'':<18}{'posts':>6}{'failed':>7}{'wrong':>6}{'found':>6}{'recall':>7}{'silent':>7}"
    f"{'flags':>6}{'false':>6}{'/10,000':>8}{'<=':>8}{'posts <=':>9}{'precision':>10}{'>=':>7}{'USD':>8}"
)


@dataclass(frozen=True)
class Tally:
    """The summed outcomes of some posts.

    Shapes: of failed runs only `posts`, `failed`, `wrong` and `cost_micro_usd` count; a failure is no silence. `silent`
    are completed posts in which something is wrong and nothing was flagged, `accused` those with a false flag,
    `right_sentences` the sentences of completed posts that nothing is wrong with.
    """

    posts: int
    wrong: int
    found: int
    false_flags: int
    flags: int
    failed: int
    silent: int
    accused: int
    right_sentences: int
    cost_micro_usd: int

    @property
    def completed(self) -> int:
        """Posts whose run came to an end."""
        return self.posts - self.failed

    @property
    def precision(self) -> float | None:
        """Share of what was flagged that is wrong; None if nothing was flagged."""
        return None if not self.flags else (self.flags - self.false_flags) / self.flags

    @property
    def least_precision(self) -> float:
        """The lower bound of the precision."""
        return lower_bound(self.flags - self.false_flags, self.flags)

    @property
    def recall(self) -> float | None:
        """Share of what is wrong that was found; None if nothing is wrong."""
        return None if not self.wrong else self.found / self.wrong

    @property
    def missed(self) -> int:
        """Wrong sentences that a completed run did not find, or whose run failed."""
        return self.wrong - self.found

    @property
    def false_per_10_000(self) -> float | None:
        """False flags in 10,000 right sentences; None if there are none."""
        return None if not self.right_sentences else self.false_flags / self.right_sentences * TEN_THOUSAND

    @property
    def most_false_per_10_000(self) -> float:
        """The upper bound of `false_per_10_000`."""
        return upper_bound(min(self.false_flags, self.right_sentences), self.right_sentences) * TEN_THOUSAND

    @property
    def most_accused(self) -> float:
        """Upper bound of the share of posts with a false flag."""
        return upper_bound(self.accused, self.completed)


def tally(results: Iterable[Result]) -> Tally:
    """Sum up the results."""
    every = list(results)
    ended = [result for result in every if result.failure is None]
    return Tally(
        posts=len(every),
        wrong=sum(len(result.post.wrong) for result in every),
        found=sum(len(result.hits) for result in ended),
        false_flags=sum(len(result.false_flags) for result in ended),
        flags=sum(len(result.claims) for result in ended),
        failed=len(every) - len(ended),
        silent=sum(1 for result in ended if result.post.wrong and not result.claims),
        accused=sum(1 for result in ended if result.false_flags),
        right_sentences=sum(max(0, result.post.sentences - len(result.post.wrong)) for result in ended),
        cost_micro_usd=sum(result.cost_micro_usd for result in every),
    )


@dataclass(frozen=True)
class Pairs:
    """The outcomes of pairs that belong together. Shapes: `unanswered` are those in which a run failed."""

    pairs: int
    unanswered: int
    differing: int

    @property
    def most_differing(self) -> float:
        """Upper bound of the share of pairs that differ, among those with an answer."""
        return upper_bound(self.differing, self.pairs - self.unanswered)


def compare_mirrors(results: Sequence[Result]) -> Pairs:
    """Mirrored posts differ if one side's is flagged, rightly or wrongly, where the other's is not."""
    return _compare(results, lambda post: post.mirror_of, lambda one, other: _outcome(one) != _outcome(other))


def compare_twins(results: Sequence[Result]) -> Pairs:
    """Twins are confused if the wrong one is not found, or anything is flagged in the right one."""
    return _compare(results, lambda post: post.twin_of, lambda twin, false: bool(twin.claims) or not false.hits)


def _compare(
    results: Sequence[Result], of: Callable[[Post], str | None], differ: Callable[[Result, Result], bool]
) -> Pairs:
    by_id = {result.post.id: result for result in results}
    pairs = [(result, by_id[other]) for result in results if (other := of(result.post)) in by_id]
    answered = [(one, other) for one, other in pairs if one.failure is None and other.failure is None]
    return Pairs(len(pairs), len(pairs) - len(answered), sum(1 for one, other in answered if differ(one, other)))


def _outcome(result: Result) -> tuple[bool, bool]:
    return bool(result.hits), bool(result.false_flags)


def print_report(results: Sequence[Result], report: Report) -> None:
    """A line for each kind and language, the sums, and by name what went wrong. A run that failed fails the bench."""
    report.note(_HEAD)
    for kind in get_args(Kind):
        _print_row(report, kind, [result for result in results if result.post.kind == kind])
    for language in sorted({result.post.language for result in results}):
        _print_row(report, f"in {language}", [result for result in results if result.post.language == language])
    _print_row(report, "all", results)
    whole = tally(results)
    report.line("false flags", whole.false_flags, "", target=at_most(0))
    report.line("at most, nominal", whole.most_false_per_10_000, "in 10,000 sentences")
    report.line("posts with a false flag, at most", whole.most_accused * 100, "%")
    if whole.precision is not None:
        report.line("precision", whole.precision * 100, "%", target=at_least(100))
        report.line("precision, at least", whole.least_precision * 100, "%")
    report.line("missed", whole.missed, f"of {whole.wrong}")
    report.line("cost", whole.cost_micro_usd / MICRO, "USD")
    mirrors, twins = compare_mirrors(results), compare_twins(results)
    report.line("mirrored pairs that differ", mirrors.differing, f"of {mirrors.pairs}", target=at_most(0))
    report.line("of such pairs, at most", mirrors.most_differing * 100, "%")
    report.line("twins confused", twins.differing, f"of {twins.pairs}")
    _print_names(results, report)
    if whole.failed:
        report.fail(f"{whole.failed} of {whole.posts} posts have no answer, which is no pass")
    if not results:
        report.fail("no post was investigated")


def _print_row(report: Report, name: str, results: Sequence[Result]) -> None:
    if not results:
        return
    of = tally(results)
    report.note(
        f"{name:<18}{of.posts:>6}{of.failed:>7}{of.wrong:>6}{of.found:>6}{_share(of.recall):>7}{of.silent:>7}"
        f"{of.flags:>6}{of.false_flags:>6}{_figure(of.false_per_10_000):>8}{_figure(of.most_false_per_10_000):>8}"
        f"{of.most_accused:>9.2%}{_share(of.precision):>10}{_share(of.least_precision if of.flags else None):>7}"
        f"{of.cost_micro_usd / MICRO:>8.2f}"
    )


def _print_names(results: Sequence[Result], report: Report) -> None:
    false = [f"false flag  {result.post.id}: {quote}" for result in results for quote in result.false_flags]
    failed = [f"failed      {result.post.id}: {result.failure}" for result in results if result.failure is not None]
    missed = [
        f"missed      {result.post.id}: {sentence}"
        for result in results
        for sentence in sorted(set(result.post.wrong) - result.hits)
    ]
    for each in (*false, *failed[:_NAMED_AT_MOST], *missed[:_NAMED_AT_MOST]):
        report.note(each)
    for what, lines in (("failed", failed), ("missed", missed)):
        if len(lines) > _NAMED_AT_MOST:
            report.note(f"{what:<12}and {len(lines) - _NAMED_AT_MOST} more")


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _figure(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}"
