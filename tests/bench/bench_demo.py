"""What the demo's whole stack, Python and servers, takes from the machine while nobody uses it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

from kit.embedded.privileges import make_child_hook
from tests.bench.cost import tree_cpu_s, tree_memory
from tests.bench.report import Report, at_most

MIB = 1024 * 1024
SETTLE_S = 3.0
REST_S = 10.0


def bench(folder: Path, report: Report) -> None:
    """Start the demo, let it come to rest, measure, and stop it."""
    report.head("demo, the whole stack at rest")
    began = perf_counter()
    demo = subprocess.Popen(
        [sys.executable, "-u", "-m", "services", "demo", "--port", "0", "--data-dir", str(folder / "data")],
        stdout=subprocess.PIPE,
        stderr=(folder / "errors").open("w"),
        text=True,
        preexec_fn=make_child_hook(signal.SIGTERM, None),
    )
    try:
        assert demo.stdout is not None
        ready_s = result_s = 0.0
        for line in demo.stdout:
            ready_s = ready_s or (perf_counter() - began if "ready" in line else 0.0)
            result_s = result_s or (perf_counter() - began if "published" in line else 0.0)
            if "serving" in line:
                break
        else:
            raise RuntimeError(f"the demo ended before it served: {(folder / 'errors').read_text()}")
        sleep(SETTLE_S)
        used, at = tree_cpu_s(demo.pid), perf_counter()
        sleep(REST_S)
        used, wall_s = tree_cpu_s(demo.pid) - used, perf_counter() - at
        memory = tree_memory(demo.pid)
        report.line("memory, shared pages counted once (PSS)", memory.pss / MIB, "MiB", target=at_most(900))
        report.line("  shared pages counted for each process (RSS)", memory.rss / MIB, "MiB")
        report.line("CPU at rest", used / wall_s * 100, "% of a core", target=at_most(3))
        report.line("from start to ready", ready_s, "s")
        report.line("from start to the published result", result_s, "s")
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(30)
