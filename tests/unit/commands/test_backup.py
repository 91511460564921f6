"""What `openerrata backup` refuses before it starts any server."""

from __future__ import annotations

import fcntl
from pathlib import Path

from click.testing import CliRunner

from services.__main__ import main


def test_a_second_backup_into_a_folder_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (tmp_path / ".lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        ended = CliRunner().invoke(main, ["backup", str(tmp_path), "--data-dir", str(data)])
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (1, f"Error: another backup into {tmp_path} is running")
    assert not data.exists()
