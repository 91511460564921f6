"""A server of ours and its raw limit, which are sent the same requests by turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tests.bench.child import Child
from tests.bench.cost import measured_processes
from tests.bench.load import CONNECTIONS, Plan, Round
from tests.bench.pace import quietest
from tests.bench.report import Report, at_most, of_raw

ROUNDS = 5
ROUND_S = 1.5
WARM_UP_S = 0.5


@dataclass
class Field:
    """The two servers that are compared, and the sender. `bare` is the request that the raw limit answers."""

    gateway: Child
    address: tuple[str, int]
    limit: Child
    limit_address: tuple[str, int]
    sender: Child
    report: Report
    bare: bytes
    connections: int = CONNECTIONS

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def warm_up(self, wires: list[bytes], *, again: bool) -> None:
        """Fill caches and pools of both."""
        self._send(self.address, wires, again=again, seconds=WARM_UP_S)
        self._send(self.limit_address, [self.bare], again=True, seconds=WARM_UP_S)

    def compare(
        self,
        name: str,
        write: Callable[[], list[bytes]],
        *,
        again: bool,
        share: float | None = None,
        cpu_ms: float | None = None,
    ) -> int:
        """Alternate between raw limit and gateway and report both ratios; `again`: requests may be repeated.

        `share` of the raw limit is aimed at, unless it does not compare: the raw limit stores each request. `cpu_ms`
        is what one may cost the gateway's process.

        Gives the number of requests the gateway answered.
        """
        wall, cpu, rates, costs, ours = [], [], [], [], []
        for _ in range(ROUNDS):
            raw_round, raw_cpu_s = self._round(self.limit, self.limit_address, [self.bare], again=True)
            sent = write()
            with self.report.watched() as speed:
                round_, cpu_s = self._round(self.gateway, self.address, sent, again=again)
            ours.append((speed, round_))
            rates.append(round_.per_second)
            costs.append(cpu_s / len(round_.latencies) * 1e3)
            wall.append(round_.per_second / raw_round.per_second)
            cpu.append((raw_cpu_s / len(raw_round.latencies)) / (cpu_s / len(round_.latencies)))
        most = None if cpu_ms is None else at_most(cpu_ms)
        if share is None:
            self.report.line(name, median(rates), "req/s")
        else:
            self.report.line(name, median(rates), "req/s", ratio=median(wall), target=of_raw(share))
        self.report.line("  CPU of the gateway's process", median(costs), "ms each", ratio=median(cpu), target=most)
        self.report.line("  p50", median(each.percentile_ms(50) for _, each in ours), "ms")
        speed, calm = quietest(ours)
        self.report.line("  p99 of the quietest round", calm.percentile_ms(99), "ms", target=at_most(60), speed=speed)
        return sum(len(each.latencies) for _, each in ours)

    def _round(
        self, server: Child, address: tuple[str, int], wires: list[bytes], *, again: bool
    ) -> tuple[Round, float]:
        with measured_processes({"server": server.pid}) as cost:
            round_ = self._send(address, wires, again=again, seconds=ROUND_S)
        return round_, cost.total_s

    def _send(
        self,
        address: tuple[str, int],
        wires: list[bytes],
        *,
        again: bool,
        seconds: float,
        connections: int | None = None,
    ) -> Round:
        round_: Round = self.sender.ask(Plan(address, wires, seconds, connections or self.connections, again))
        if round_.failures:
            raise RuntimeError(f"{round_.failures} of {len(round_.latencies)} requests failed: {round_.failure}")
        return round_

    def one_by_one(self, wires: list[bytes]) -> Round:
        """Each request after the answer to the one before."""
        return self._send(self.address, wires, again=False, seconds=60, connections=1)
