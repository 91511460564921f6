"""What only a terminal shows, and what an operator must not overlook."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from services.commands.erase import report
from services.commands.terminal import format_count, show_progress
from services.projector.erasure.erase import Erased


def count() -> None:
    show_progress("blobs", 1, 2_000)
    show_progress("blobs", 2_000, 2_000)


def test_progress_is_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = pty.openpty()
    with os.fdopen(reader, "rb") as screen, os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        count()
        terminal.flush()
        assert screen.readline() == b"\rblobs: 1 of 2,000\rblobs: 2,000 of 2,000\r\n"


def test_elsewhere_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    count()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("done", "is_doubted"), [(Erased(), True), (Erased(1), False), (Erased(0, {"0f"}), False)])
def test_an_erasure_of_nothing_asks_whether_the_id_is_right(
    done: Erased, is_doubted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    report(done)
    assert ("is it the right one?" in capsys.readouterr().err) == is_doubted


@pytest.mark.parametrize(("number", "written"), [(0, "0 blobs"), (1, "1 blob"), (2, "2 blobs"), (1_000, "1,000 blobs")])
def test_one_thing_has_no_plural(number: int, written: str) -> None:
    assert format_count(number, "blob") == written
