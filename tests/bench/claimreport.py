"""Reports outcomes of claims with known answers, by kind and by language, with exact one-sided bounds at 95 %.

Units: a bound's trials are claims, sources or pairs. Claims that share a row of a table are no independent trials, so
bounds are nominal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from accuracy.bounds import lower_bound, upper_bound
from tests.bench.casereport import MICRO, Pairs
from tests.bench.claimbook import ClaimKind
from tests.bench.claimrun import Result
from tests.bench.report import Report, at_most

PAIRED: Final[tuple[ClaimKind, ...]] = ("neutral", "mirrored")
_NAMED_AT_MOST: Final = 40
_HEAD: Final = (
    f"{'':<18}{'claims':>7}{'failed':>7}{'right':>7}{'wrong':>6}{'silent':>7}{'wrong <=':>9}"
    f"{'on page':>8}{'of':>5}{'>=':>7}{'USD':>8}"
)


@dataclass(frozen=True)
class Tally:
    """The summed outcomes of some claims.

    Shapes: of failed runs only `claims`, `failed` and `cost_micro_usd` count. `silent` are verdicts on no side;
    `on_page` of `sources` have all their quotes on the page that they name.
    """

    claims: int
    failed: int
    right: int
    wrong: int
    on_page: int
    sources: int
    cost_micro_usd: int

    @property
    def silent(self) -> int:
        """Completed analyses whose verdict is on no side."""
        return self.claims - self.failed - self.right - self.wrong

    @property
    def most_wrong(self) -> float:
        """Upper bound of the share of wrong verdicts among those on a side."""
        return upper_bound(self.wrong, self.right + self.wrong)

    @property
    def least_on_page(self) -> float:
        """Lower bound of the share of sources that stand."""
        return lower_bound(self.on_page, self.sources)


def tally(results: Iterable[Result]) -> Tally:
    """Sum up the results."""
    every = list(results)
    ended = [result for result in every if result.failure is None]
    return Tally(
        claims=len(every),
        failed=len(every) - len(ended),
        right=sum(result.is_right for result in ended),
        wrong=sum(result.is_wrong for result in ended),
        on_page=sum(result.on_page for result in ended),
        sources=sum(result.on_page + result.not_on_page for result in ended),
        cost_micro_usd=sum(result.cost_micro_usd for result in every),
    )


def compare(results: Sequence[Result], kind: ClaimKind) -> Pairs:
    """Claims of a pair are both true or both false: they differ if their verdicts are not on the same side."""
    by_id = {result.claim.id: result for result in results if result.claim.kind == kind}
    pairs = [(result, by_id[other]) for result in by_id.values() if (other := result.claim.other) in by_id]
    answered = [(one, other) for one, other in pairs if one.failure is None and other.failure is None]
    return Pairs(len(pairs), len(pairs) - len(answered), sum(one.says is not other.says for one, other in answered))


def print_report(results: Sequence[Result], report: Report) -> None:
    """A line for each kind and language, the sums, and by name what is wrong. A run that failed fails the bench."""
    report.note(_HEAD)
    for kind in get_args(ClaimKind):
        _print_row(report, kind, [result for result in results if result.claim.kind == kind])
    for language in sorted({result.claim.language for result in results}):
        _print_row(report, f"in {language}", [result for result in results if result.claim.language == language])
    _print_row(report, "all", results)
    whole = tally(results)
    report.line("verdicts on the wrong side", whole.wrong, f"of {whole.right + whole.wrong}", target=at_most(0))
    report.line("of such verdicts, at most", whole.most_wrong * 100, "%")
    for kind in PAIRED:
        pairs = compare(results, kind)
        report.line(f"{kind} pairs that differ", pairs.differing, f"of {pairs.pairs}", target=at_most(0))
        report.line("of such pairs, at most", pairs.most_differing * 100, "%")
    report.line("sources whose quotes stand on their page", whole.on_page, f"of {whole.sources}")
    report.line("cost", whole.cost_micro_usd / MICRO, "USD")
    named = [result for result in results if result.is_wrong or result.failure is not None][:_NAMED_AT_MOST]
    for result in named:
        report.note(f"  {result.failure or 'wrong'}: {result.claim.id}, {result.claim.text}")
    if whole.failed:
        report.fail(f"{whole.failed} of {whole.claims} claims have no answer, which is no pass")
    if not results:
        report.fail("no claim was analysed")


def _print_row(report: Report, name: str, results: Sequence[Result]) -> None:
    if not results:
        return
    of = tally(results)
    report.note(
        f"{name:<18}{of.claims:>7}{of.failed:>7}{of.right:>7}{of.wrong:>6}{of.silent:>7}{of.most_wrong:>9.2%}"
        f"{of.on_page:>8}{of.sources:>5}{of.least_on_page:>7.1%}{of.cost_micro_usd / MICRO:>8.2f}"
    )
