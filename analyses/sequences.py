"""Match the elements of two sequences in bounded time.

Elements that are unique in both are matched first, in the longest common order; only the short segments between them
are compared element by element. Segments that are too long for that are left unmatched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, TypeVar

MAX_CELLS: Final = 40_000
"""The most cells of the table that compares two segments."""

T = TypeVar("T", bound=Hashable)


def match_sequences(old: Sequence[T], new: Sequence[T]) -> Iterator[tuple[int, int]]:
    """Pairs of indices of equal elements, both ascending."""
    start = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        yield start, start
        start += 1
    same = 0
    while same < shorter - start and old[-1 - same] == new[-1 - same]:
        same += 1
    end_old, end_new = len(old) - same, len(new) - same
    i, j = start, start
    for old_index, new_index in (*_anchors(old, new, start, end_old, end_new), (end_old, end_new)):
        yield from _between(old, new, (i, old_index), (j, new_index))
        if old_index < end_old:
            yield old_index, new_index
        i, j = old_index + 1, new_index + 1
    yield from ((end_old + k, end_new + k) for k in range(same))


def _anchors(old: Sequence[T], new: Sequence[T], start: int, end_old: int, end_new: int) -> list[tuple[int, int]]:
    """Pairs of indices of elements that are unique on both sides: a longest subsequence in common order."""
    once_old, once_new = Counter(old[start:end_old]), Counter(new[start:end_new])
    where = {new[j]: j for j in range(start, end_new) if once_new[new[j]] == 1}
    pairs = [(i, where[old[i]]) for i in range(start, end_old) if once_old[old[i]] == 1 and old[i] in where]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            last.append(n)
        else:
            ends[length], last[length] = j, n
    chain: list[tuple[int, int]] = []
    n = last[-1] if last else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]


def _between(
    old: Sequence[T], new: Sequence[T], of_old: tuple[int, int], of_new: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """A longest common subsequence of two short segments."""
    (i, end_old), (j, end_new) = of_old, of_new
    rows, columns = end_old - i, end_new - j
    if not rows or not columns or rows * columns > MAX_CELLS:
        return
    lengths = [[0] * (columns + 1) for _ in range(rows + 1)]
    for r in range(rows - 1, -1, -1):
        row, below = lengths[r], lengths[r + 1]
        for c in range(columns - 1, -1, -1):
            row[c] = below[c + 1] + 1 if old[i + r] == new[j + c] else max(below[c], row[c + 1])
    r = c = 0
    while r < rows and c < columns:
        if old[i + r] == new[j + c]:
            yield i + r, j + c
            r, c = r + 1, c + 1
        elif lengths[r + 1][c] >= lengths[r][c + 1]:
            r += 1
        else:
            c += 1
