"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openerrata_client import AsyncClient
from openerrata_client.command import describe, make_command
from openerrata_client.events import Event
from services.__main__ import main as openerrata
from tests.support.job_server import API_KEY, Fault, JobServer

AUDIT = make_command("openerrata-audit")
TEXT = "The sky is blue. Unemployment rose to 4 percent last month.\n"


@pytest.fixture
def article(tmp_path: Path) -> str:
    path = tmp_path / "draft.md"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture(autouse=True)
def environment(server: JobServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_API_KEY", API_KEY)
    monkeypatch.setenv("OPENERRATA_SERVER", server.address)


def audit(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(AUDIT, words, input=stdin)


@pytest.mark.parametrize(
    ("verdict", "status"), [("WELL-SUPPORTED", 0), ("MISLEADING", 1), ("REFUTED", 1), ("UNCERTAIN", 1)]
)
def test_the_exit_status_is_the_verdict(server: JobServer, article: str, verdict: str, status: int) -> None:
    server.verdict = verdict
    ended = audit(article)
    assert (ended.exit_code, ended.stderr) == (status, "")
    assert ended.stdout.startswith("# ")
    (job,) = server.jobs.values()
    assert job.request.input_text == TEXT


def test_json_is_the_result_as_it_was_received(server: JobServer) -> None:
    ended = audit("-", "--json", "--max-claims", "3", "--depth", "deep", "--cache", "allow_partial", stdin=TEXT)
    assert (ended.exit_code, ended.stderr) == (0, "")
    (job,) = server.jobs.values()
    assert json.loads(ended.stdout)["job_id"] == job.id
    options = job.request.options
    assert (options.max_claims, options.depth, options.cache_preference) == (3, "deep", "allow_partial")


@pytest.mark.parametrize("address", ["https://news.example/article", "HTTPS://news.example/article"])
def test_an_address_is_sent_as_one(address: str, server: JobServer) -> None:
    assert audit(address).exit_code == 0
    (job,) = server.jobs.values()
    assert job.request.input_url == address


def test_the_key_may_lie_in_a_file(server: JobServer, article: str, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(f"{API_KEY}\n")
    words = [article, "--server", server.address, "--key-file", str(key)]
    assert CliRunner(env={"OPENERRATA_API_KEY": "", "OPENERRATA_SERVER": ""}).invoke(AUDIT, words).exit_code == 0


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["nowhere.md"], None, "No such file"),
        (["ftp://news.example/walk"], None, "An address begins with https:// or http://."),
        (["-"], " \n", "no text"),
        (["-"], "<!DOCTYPE html><p>A page", "give its address"),
        (["-"], "<?xml version='1.0'?>\n<!DOCTYPE html><p>A page", "give its address"),
        (["-"], "<!-- saved -->\n<!-- > -->\n<HTML lang=en><p>A page", "give its address"),
        (["-"], "<head><title>A page</title>", "give its address"),
        (["-"], "%PDF-1.4\n(The sky is blue.) Tj", "not plain text: give the address"),
        (["-"], "{\\rtf1 The sky is blue.}", "not plain text"),
        (["-"], "T\0h\0e\0", "not plain text"),
        (["-", "--server", "news.example"], "A text.", "begins with https://"),
        (["-", "--server", "http://127.0.0.1:1"], "A text.", "does it run"),
        (["-", "--key-file", "nowhere"], "A text.", "No such file"),
        (["-", "--max-claims", "11"], "A text.", "11 is not in the range"),
    ],
)
def test_what_could_not_be_done_is_said_in_one_line(
    words: list[str], stdin: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asyncio.sleep", _at_once)
    ended = audit(*words, stdin=stdin)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr


async def _at_once(_: float) -> None:
    return


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"A\x89PNG")
    ended = audit(str(picture))
    assert (ended.exit_code, ended.stderr) == (
        2,
        f"Error: {picture} is not text in UTF-8 (byte 1): "
        "give the address of a page or a PDF, or the words alone as text in UTF-8\n",
    )


def test_a_report_is_printed_in_whatever_encoding_the_output_has(server: JobServer, article: str) -> None:
    ended = CliRunner(charset="latin-1").invoke(AUDIT, [article])
    assert ended.exit_code == 0, ended.exception
    assert "\\u201c" in ended.stdout


def test_a_report_that_cannot_be_written_is_no_verdict(server: JobServer, article: str) -> None:
    command = [sys.executable, "-c", "from openerrata_client.command import main; main()", article]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.splitlines()[:1]) == (2, [b"Error: No space left on device"])


def run_in_shell(script: str, article: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash, in which the program is $AUDIT and its article $ARTICLE."""
    program = f"{sys.executable} -c 'from openerrata_client.command import main; main()'"
    environment = {**os.environ, "ARTICLE": article}
    return subprocess.run(
        ["bash", "-c", script.replace("$AUDIT", program)], env=environment, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("script", ['$AUDIT "$ARTICLE" > >(exec true); exit $?', '$AUDIT "$ARTICLE" 2>&-'])
def test_a_verdict_stays_one_where_no_one_reads(server: JobServer, article: str, script: str) -> None:
    ended = run_in_shell(script, article)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_markdown_may_begin_with_a_comment(server: JobServer, tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text(f"<!-- a draft -->\n{TEXT} <html> is a tag.")
    assert audit(str(tmp_path / "draft.md")).exit_code == 0


def test_a_closed_input_holds_no_text(article: str) -> None:
    ended = run_in_shell("$AUDIT - <&-", article)
    assert (ended.returncode, ended.stderr) == (2, b"Error: There is no text.\n")


def test_the_mark_of_windows_before_a_text_is_none_of_its_words(server: JobServer, tmp_path: Path) -> None:
    (tmp_path / "windows.md").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert audit(str(tmp_path / "windows.md")).exit_code == audit("-", stdin=f"\ufeff{TEXT}").exit_code == 0
    assert {job.request.input_text for job in server.jobs.values()} == {TEXT}
    assert "give its address" in audit("-", stdin="\ufeff<!DOCTYPE html><p>A page").stderr


def test_a_key_file_that_is_no_text_is_not_blamed_on_the_article(article: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"oe_\xff")
    ended = audit(article, "--key-file", str(tmp_path / "key"))
    assert (ended.exit_code, ended.stderr) == (2, "Error: The API key has characters that no key can have.\n")


def test_standard_input_that_is_no_text_is_said_in_one_line(server: JobServer) -> None:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-c", "from openerrata_client.command import main; main()", "-"]
    ended = subprocess.run(command, input=b"A caf\xe9.", env=environment, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"Error: - is not text in UTF-8 (byte 5): give ")
    assert server.jobs == {}


@pytest.mark.parametrize(("language", "shown"), [("en", "read: 12 characters (en)"), (None, "read: 12 characters")])
def test_a_language_that_is_not_known_yet_is_left_out(language: str | None, shown: str) -> None:
    assert describe(Event("1", "fetched", {"characters": 12, "language": language})) == shown


def test_a_refusal_is_said_with_what_to_do(server: JobServer, article: str) -> None:
    server.fail("POST /v1/analyze", Fault(402, "CREDIT_LIMIT_REACHED"))
    ended = audit(article)
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    assert "cache_only" in ended.stderr
    server.ends_as = "FAILED"
    ended = audit(article)
    assert (ended.exit_code, "NOT_PUBLIC" in ended.stderr) == (2, True)


def test_what_takes_too_long_is_cancelled(server: JobServer, article: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def outlast(_: float) -> None:
        loop = asyncio.get_running_loop()
        late = loop.time() + 60
        monkeypatch.setattr(loop, "time", lambda: late)
        await asyncio.Event().wait()

    monkeypatch.setattr("openerrata_client.command.AsyncClient", partial(AsyncClient, sleep=outlast))
    server.waits = server.do_jobs_end = False
    ended = audit(article, "--timeout", "60")
    assert ended.exit_code == 2
    assert "not done within 60 s" in ended.stderr
    (job,) = server.jobs.values()
    assert f"The job {job.id} was cancelled." in ended.stderr
    assert job.status == "CANCELED"


@pytest.mark.parametrize("route", ["GET /v1/jobs/{id}", "GET /v1/jobs/{id}/report"])
def test_a_job_that_is_lost_sight_of_is_named(
    server: JobServer, article: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asyncio.sleep", _at_once)
    server.fail(route, *[Fault()] * 5)
    ended = audit(article)
    (job,) = server.jobs.values()
    begun, why = ended.stderr.splitlines()
    assert (ended.exit_code, job.status == "CANCELED") == (2, False)
    assert (f"The job {job.id} was started" in begun, "No answer from" in why) == (True, True)


def test_what_takes_too_long_to_begin_is_given_up(server: JobServer, article: str) -> None:
    server.fail("POST /v1/analyze", *[Fault(503, headers={"Retry-After": "60"})] * 5)
    ended = audit(article, "--timeout", "0.2")
    assert (ended.exit_code, ended.stderr) == (2, "Error: not done within 0.2 s; --timeout allows more\n")


def test_openerrata_audit_is_the_same_command(article: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(openerrata, ["audit", article]).exit_code == 0
    monkeypatch.setenv("OPENERRATA_SERVRE", "x")
    refused = CliRunner().invoke(openerrata, ["audit", article])
    assert (refused.exit_code, "OPENERRATA_SERVER" in refused.stderr) == (2, True), "1 would be a verdict"


def run_on_terminal(article: str) -> tuple[subprocess.Popen[bytes], int]:
    """The real program with a terminal for its progress; where that can be read."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from openerrata_client.command import main; main()", article]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    return process, ours


def read_until(terminal: int, word: bytes) -> bytes:
    said = b""
    while word not in said:
        said += os.read(terminal, 1_000)
    return said


def test_a_terminal_sees_the_progress(server: JobServer, article: str) -> None:
    process, terminal = run_on_terminal(article)
    said = read_until(terminal, b"ended: SUCCEEDED").decode()
    report, _ = process.communicate(timeout=30)
    os.close(terminal)
    assert process.returncode == 0
    assert report.startswith(b"# ")
    for line in ("claims: 2", "looked up: C1 new, C2 hit", "C1: Supported", "assessing the article"):
        assert line in said


def test_ctrl_c_cancels_the_job_and_says_so(server: JobServer, article: str) -> None:
    server.do_jobs_end = False
    process, terminal = run_on_terminal(article)
    said = read_until(terminal, b"assessing")
    process.send_signal(signal.SIGINT)
    said += read_until(terminal, b"interrupted")
    report, _ = process.communicate(timeout=30)
    os.close(terminal)
    (job,) = server.jobs.values()
    assert (process.returncode, report, job.status) == (130, b"", "CANCELED")
    assert f"The job {job.id} was cancelled." in said.decode()
    assert b"Traceback" not in said


def test_an_event_that_is_not_known_yet_is_shown_by_its_name() -> None:
    assert describe(Event("1", "translated", {})) == "translated"
    assert describe(Event("1", "planned", {"claims": "?"})) == "looked up: "
