"""Import rules hold, and each of them breaks when it should: on a copy of our sources with one wrong import each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from tests.architecture.sources import PACKAGES, ROOT

LINT_IMPORTS: Final = Path(sys.executable).parent / "lint-imports"

WRONG: Final = {
    "layers": ("platforms/x.py", "import analyses"),
    "services": ("services/gateway/domain.py", "import services.ingest.domain"),
    "commands": ("services/ingest/app.py", "import services.commands.up"),
    "inside": ("services/ingest/ports.py", "import services.ingest.handlers"),
    "gateway": ("services/gateway/record/rows.py", "import services.gateway.public.names"),
    "gateway_core": ("services/gateway/rpc.py", "import services.gateway.extension.procedures"),
    "handlers": ("services/validator/handlers.py", "import kit.bus"),
    "pure": ("services/verifier/domain.py", "import asyncio"),
    "tables": ("contracts/readmodel/posts.py", "import psycopg"),
    "broker": ("services/selector/adapters.py", "import nats"),
    "providers": ("services/validator/adapters.py", "import openai"),
}


def lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the import rules of a folder."""
    return subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def contracts() -> dict[str, str]:
    """Names of the rules by id."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return {each["id"]: each["name"] for each in tomllib.load(file)["tool"]["importlinter"]["contracts"]}


def test_import_rules_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_breaks_when_it_should(tmp_path: Path) -> None:
    assert set(WRONG) == set(contracts())
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path, line in WRONG.values():
        with (tmp_path / path).open("a") as file:
            file.write(f"\n{line}\n")
    done = lint(tmp_path)
    told = " ".join(done.stdout.split())
    kept = [rule for rule, name in contracts().items() if f"{name} KEPT" in told]
    assert done.returncode == 1, done.stdout + done.stderr
    assert kept == []
    assert all(f"{name} BROKEN" in told for name in contracts().values())
