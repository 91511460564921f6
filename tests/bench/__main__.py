"""`make bench`: every measurement, or those that are named."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic

from kit.settings import SettingsError
from tests.bench import (
    bench_articles,
    bench_audits,
    bench_breaker,
    bench_cases,
    bench_claims,
    bench_day,
    bench_demo,
    bench_extension,
    bench_gates,
    bench_gateway,
    bench_log,
    bench_lookup,
    bench_pipeline,
    bench_projector,
    bench_rebuild,
    bench_search,
    bench_site,
    bench_text,
)
from tests.bench.pace import Pace
from tests.bench.report import Report

BENCHES: dict[str, Callable[[Path, Report], None]] = {
    "gateway": bench_gateway.bench,
    "lookup": bench_lookup.bench,
    "log": bench_log.bench,
    "pipeline": bench_pipeline.bench,
    "projector": bench_projector.bench,
    "rebuild": bench_rebuild.bench,
    "day": bench_day.bench,
    "audits": bench_audits.bench,
    "search": bench_search.bench,
    "site": bench_site.bench,
    "text": bench_text.bench,
    "extension": bench_extension.bench,
    "demo": bench_demo.bench,
    "articles": bench_articles.bench,
    "cases": bench_cases.bench,
    "claims": bench_claims.bench,
    "gates": bench_gates.bench,
    "breaker": bench_breaker.bench,
}


def main() -> int:
    """Measure; targets that are not met count only with `--strict`, since machines are noisy; failures always do."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="bench", help=f"some of: {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is not met")
    cases = parser.add_argument_group("cases and claims: posts, and claims of audits, with known answers")
    cases.add_argument("--tier", choices=tuple(bench_cases.TIERS), default="commit", help="how many (default: commit)")
    cases.add_argument("--live", action="store_true", help="ask the configured model, which costs money")
    cases.add_argument("--max-usd", type=float, help="what --live may cost at most")
    cases.add_argument("--window", type=int, help="the context window of the models --live asks, in tokens")
    cases.add_argument("--recordings", type=Path, help="a folder of answers: written with --live, else replayed")
    cases.add_argument("--sealed", type=Path, help="posts that `python -m tests.bench.sealed` sealed, instead")
    cases.add_argument("--proof", type=Path, help="that --sealed was committed to: what /log/v1/proof/ID answers")
    cases.add_argument("--policy", type=Path, help="whose signatures are accepted: what /log/v1/policy answers")
    breaker = parser.add_argument_group("breaker: what passes before it trips, simulated")
    breaker.add_argument("--seed", type=int, default=bench_breaker.SEED, help="of random draws (default: %(default)s)")
    rebuild = parser.add_argument_group("rebuild: the read model from a ledger that has grown")
    rebuild.add_argument("--facts", type=int, default=bench_rebuild.FACTS, help="in the ledger (default: %(default)s)")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHES)
    if unknown:
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    try:
        options = bench_cases.Options(
            arguments.tier,
            arguments.live,
            arguments.max_usd,
            arguments.window,
            arguments.recordings,
            arguments.sealed,
            arguments.proof,
            arguments.policy,
        )
    except ValueError as error:
        parser.error(str(error))
    benches = BENCHES | {
        "cases": partial(bench_cases.bench, options=options),
        "claims": partial(bench_claims.bench, options=options),
        "rebuild": partial(bench_rebuild.bench, facts=arguments.facts),
        "breaker": partial(bench_breaker.bench, seed=arguments.seed),
    }
    began = monotonic()
    with Pace() as pace:
        report = Report(pace)
        for name, bench in benches.items():
            if not arguments.names or name in arguments.names:
                try:
                    with tempfile.TemporaryDirectory(prefix=f"openerrata-bench-{name}-") as folder:
                        bench(Path(folder), report)
                except SettingsError as error:
                    print(f"error: {error}", file=sys.stderr)
                    return 2
    print(f"\ntook {monotonic() - began:.0f} s; {report.below or 'no'} target(s) below")
    return 1 if report.failures or (arguments.strict and report.below) else 0


if __name__ == "__main__":
    sys.exit(main())
