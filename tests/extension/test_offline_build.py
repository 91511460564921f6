"""Both packages are built of what `npm ci` brought, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.extension.chromium import EXTENSION

SOURCES: Final = ("src", "public", "package.json", "wxt.config.ts", "tsconfig.json")
NOWHERE: Final = "http://127.0.0.1:9"
PROXIES: Final = {
    name: NOWHERE for kind in ("http", "https", "all") for name in (f"{kind}_proxy", f"{kind}_PROXY".upper())
}


def alone() -> list[str]:
    """A prefix under which a command has no network at all; empty where this machine forbids that."""
    unshare = shutil.which("unshare")
    for prefix in ([unshare, "-n"], [unshare, "-rn"]) if unshare else ():
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix
    return []


def test_both_packages_are_built_without_a_network(tmp_path: Path) -> None:
    """Where the network cannot be taken away, whatever is asked for goes to a proxy that refuses."""
    for name in SOURCES:
        (shutil.copytree if (EXTENSION / name).is_dir() else shutil.copy)(EXTENSION / name, tmp_path / name)
    (tmp_path / "node_modules").symlink_to(EXTENSION / "node_modules")
    env = {
        **os.environ,
        **PROXIES,
        "NODE_USE_ENV_PROXY": "1",
        "npm_config_offline": "true",
        "npm_config_registry": NOWHERE,
    }
    prefix = alone()
    if prefix:
        interfaces = subprocess.run(
            [*prefix, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True
        ).stdout
        assert {line.partition(":")[0].strip() for line in interfaces.splitlines()[2:]} <= {
            "lo",
            "sit0",
            "tunl0",
            "ip6tnl0",
        }
    built = subprocess.run(
        [*prefix, "npm", "run", "--silent", "build"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    for browser in ("chrome", "firefox"):
        package = tmp_path / ".output" / f"{browser}-mv3"
        same = EXTENSION / ".output" / f"{browser}-mv3"
        assert _files(package) == _files(same), "the same package as with a network"


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
