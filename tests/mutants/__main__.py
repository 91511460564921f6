"""Command line: `python -m tests.mutants [WORD …]` runs the mutants whose area or name has one of the words.

Exit status 0: each is noticed by a test; 1: some survive; 2: a mutant cannot be applied, or its tests fail unbroken.
"""

from __future__ import annotations

import os
import sys

from tests.mutants.listing import UnusableMutant, check, mutants
from tests.mutants.run import Result, run_all, unbroken


def main(words: list[str]) -> int:
    """Print a line per mutant, and at the end those that no test notices."""
    if any(word.startswith("-") for word in words):
        print(__doc__)
        return 0 if set(words) <= {"-h", "--help"} else 2
    try:
        chosen = [m for m in mutants() if not words or any(word in str(m) for word in words)]
        for mutant in chosen:
            check(mutant)
    except UnusableMutant as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not chosen:
        print(f"error: no mutant is named like {' or '.join(words)}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} mutants; first their tests on the code as it is …", flush=True)
    if output := unbroken(chosen):
        print(f"error: these tests fail without any mutant:\n{output}", file=sys.stderr)
        return 2
    unnoticed: list[Result] = []
    for result in run_all(chosen, workers=max(1, (os.cpu_count() or 1) // 2)):
        print(f"  {result.verdict.value:9}{result.mutant}", flush=True)
        if not result.noticed:
            unnoticed.append(result)
    for result in unnoticed:
        print(f"\n{result.verdict.value}: {result.mutant}\n  {result.mutant.file}\n{result.output}")
    print(f"\n{len(chosen) - len(unnoticed)} of {len(chosen)} noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
