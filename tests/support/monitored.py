"""What alerts and dashboards ask of Prometheus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import yaml

from tests.architecture.sources import ROOT

RULES: Final = ROOT / "deploy" / "alerts" / "openerrata.rules.yaml"
BOARDS: Final = ROOT / "deploy" / "dashboards"
_METRIC: Final = re.compile(r"\bopenerrata_[a-z_]+")
_SUFFIX: Final = re.compile(r"_(bucket|count|sum)$")


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression, with the alert or the panel that it stands in."""
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        yield from ((rule["alert"], rule["expr"]) for rule in group["rules"])
    for board in sorted(BOARDS.glob("*.json")):
        for panel in json.loads(board.read_text())["panels"]:
            yield from ((f"{board.stem}: {panel['title']}", target["expr"]) for target in panel["targets"])


def asked(expression: str) -> set[str]:
    """The metrics that an expression names, as they are declared."""
    return {_SUFFIX.sub("", name) for name in _METRIC.findall(expression)}
