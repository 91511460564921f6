"""The package is installed alone: without the server's code, with its types."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.architecture.sources import PACKAGES, ROOT


def test_nothing_of_the_server_is_imported() -> None:
    code = (
        "import sys, openerrata_client, openerrata_client.command, openerrata_client.mcp_server\n"
        f"print(sorted({set(PACKAGES)!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_what_is_built_holds_the_package_and_its_programs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    source = tmp_path / "client"  # setuptools writes beside what it builds
    subprocess.run(["cp", "-r", ROOT / "client", source], check=True)
    subprocess.run([*build, "--wheel-dir", tmp_path, source], check=True, timeout=120)
    (wheel,) = tmp_path.glob("openerrata_client-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entries,) = [name for name in names if name.endswith("entry_points.txt")]
        programs = archive.read(entries).decode()
    modules = {path.name for path in (ROOT / "client" / "src" / "openerrata_client").iterdir() if path.is_file()}
    assert {f"openerrata_client/{name}" for name in modules} <= names
    assert "openerrata-audit" in programs
    assert "openerrata-mcp" in programs
