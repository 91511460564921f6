"""The GitHub Action: its definition, and its script against a job server and a forge on real sockets."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.architecture.sources import ROOT
from tests.support.job_server import API_KEY, Fault, JobServer

ACTION = ROOT / "client" / "action"
DEFINITION: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
SCRIPT = ACTION / "audit_pull_request.py"


BOT = "github-actions[bot]"


class Forge:
    """The resources of GitHub that the script uses."""

    def __init__(self) -> None:
        self.address = ""
        self.files = [{"filename": name, "status": status, "changes": changes} for name, status, changes in CHANGED]
        self.comments: list[dict[str, Any]] = [{"id": 1, "body": "Nice.", "user": None}]
        self.is_read_only = False
        self.is_silent_of_tokens = False
        self.is_replaced: int | None = None
        """The status of a proxy's page that answers instead."""
        self.meanwhile: list[str] = []
        """Comments that others write while one is being written."""


CHANGED = (
    *(("post.md", "modified", 2), ("docs/a.md", "added", 1), ("gone.md", "removed", 9), ("code.py", "modified", 3)),
    *(("moved.md", "renamed", 0), ("link.md", "added", 1)),
)


PULL_REQUEST = {"pull_request": {"number": 7}}


@pytest.fixture
def forge() -> Iterator[Forge]:
    state = Forge()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            assert self.headers["authorization"] == "Bearer gh_token"
            if state.is_replaced is not None:
                self.send_body(b"<html>", state.is_replaced)
                return
            path, _, query = self.path.partition("?")
            listed = state.files if path == "/repos/a/b/pulls/7/files" else state.comments
            assert path in ("/repos/a/b/pulls/7/files", "/repos/a/b/issues/7/comments")
            page = int(re.findall(r"\bpage=(\d+)", query)[-1])
            self.answer(listed[(page - 1) * 100 : page * 100])

        def do_POST(self) -> None:
            if self.path == "/graphql":
                assert self.headers["authorization"] == "Bearer gh_token"
                assert self.body() == {"query": "{ viewer { login } }"}
                said = {"data": {"viewer": {"login": BOT}}}
                self.answer({"data": None, "errors": [{}]} if state.is_silent_of_tokens else said)
                return
            if state.is_read_only:
                self.body()
                self.answer({"message": "Resource not accessible by integration"}, 403)
                return
            assert self.path == "/repos/a/b/issues/7/comments"
            for body in (*state.meanwhile, self.body()["body"]):
                state.comments.append({"id": len(state.comments) + 1, "body": body, "user": {"login": BOT}})
            self.answer(state.comments[-1])

        def do_PATCH(self) -> None:
            self.commented().update(self.body())
            self.answer({})

        def do_DELETE(self) -> None:
            state.comments.remove(self.commented())
            self.answer({})

        def commented(self) -> dict[str, Any]:
            number = int(self.path.removeprefix("/repos/a/b/issues/comments/"))
            return next(each for each in state.comments if each["id"] == number)

        def body(self) -> dict[str, Any]:
            found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            return found

        def answer(self, document: object, status: int = 200) -> None:
            self.send_body(json.dumps(document).encode(), status)

        def send_body(self, body: bytes, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def load_script() -> Any:  # a module that is no part of a package
    spec = importlib.util.spec_from_file_location("audit_pull_request", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = load_script()
MARKDOWN = MarkdownIt("commonmark").enable("table")
characters = st.one_of(st.characters(), st.sampled_from("|`*_<>[]()!@#\\&\n"))


@given(text=st.text(characters, max_size=60), address=st.text(characters, max_size=40))
@example(text="![a](https://e.example/x.png) @everyone <img src=x> a|b `c", address="https://a.example/|<b>")
def test_words_of_an_article_become_no_mark_up(text: str, address: str) -> None:
    cells = [MODULE._cell(text), MODULE._link(f"https://e.example/{address}"), MODULE._link(address)]
    tokens = MARKDOWN.parse(f"| a | b | c |\n|---|---|---|\n| {' | '.join(cells)} |\n")
    assert [token.type for token in tokens].count("td_open") == 3
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "text_special", "link_open", "link_close"}
    assert all(str(child.attrs["href"]).startswith("http") for child in inline if child.type == "link_open")
    assert not re.search(r"@\w", cells[0])


def test_a_file_name_becomes_no_mark_up() -> None:
    comment = MODULE.describe([MODULE.Outcome("a`b\n\n# Head\n\n@all.md", problem="x")], 0)
    inline = [child for token in MARKDOWN.parse(comment) for child in token.children or ()]
    assert [child.content for child in inline if child.type == "code_inline"] == ["ab # Head @all.md"]
    assert not any("@" in child.content for child in inline if child.type == "text")


def test_a_comment_is_no_longer_than_one_may_be() -> None:
    outcomes = [MODULE.Outcome(f"{number}.md", problem="x" * 200) for number in range(1_000)]
    comment = MODULE.describe(outcomes, 3)
    assert 60_000 < len(comment) <= 65_536
    assert comment.startswith(MODULE.MARK)
    assert comment.endswith("too long for a comment.\n\nVerdicts are estimates by models; read the evidence.\n")


def start(
    folder: Path, forge: Forge, server: JobServer, event: object = PULL_REQUEST, **inputs: str
) -> subprocess.Popen[str]:
    """Start the action's last step as a runner does: its variables by the definition's own names and defaults."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "post.md").write_text("The sky is blue.")
    (folder / "docs" / "a.md").write_text("Unemployment rose to 4 percent last month.")
    (folder / "moved.md").write_text("It was only moved.")
    with suppress(FileExistsError):
        (folder / "link.md").symlink_to(SCRIPT)
    (folder / "event.json").write_text(json.dumps(event))
    given = {name: str(each.get("default", "")) for name, each in DEFINITION["inputs"].items()}
    given |= {"server": server.address, "api-key": API_KEY, "github-token": "gh_token"} | inputs
    step = DEFINITION["runs"]["steps"][-1]
    env = {name: given[re.fullmatch(r"\$\{\{ inputs\.(.+) \}\}", value)[1]] for name, value in step["env"].items()}  # type: ignore[index]  # every variable is an input
    github = {
        "GITHUB_ACTION_PATH": str(ACTION),
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_API_URL": forge.address,
        "GITHUB_GRAPHQL_URL": f"{forge.address}/graphql",
        "GITHUB_REPOSITORY": "a/b",
    }
    path = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}
    (folder / "step.sh").write_text(step["run"])
    return subprocess.Popen(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"],
        cwd=folder,
        env={**os.environ, **env, **github, **path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    folder: Path, forge: Forge, server: JobServer, event: object = PULL_REQUEST, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run the step to its end."""
    process = start(folder, forge, server, event, **inputs)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_the_definition_is_whole() -> None:
    runs = DEFINITION["runs"]
    assert runs["using"] == "composite"
    assert all(step.get("shell") == "bash" for step in runs["steps"] if "run" in step)
    assert runs["steps"][-1]["run"].endswith('/audit_pull_request.py"')
    assert not any("${{" in step.get("run", "") for step in runs["steps"]), "an input would become a command"
    assert all(each["description"] for each in DEFINITION["inputs"].values())
    assert [name for name, each in DEFINITION["inputs"].items() if each.get("required")] == ["server", "api-key"]


def test_changed_files_are_audited_and_found_in_one_comment(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    server.verdict = "MISLEADING"
    done = run(tmp_path, forge, server)
    assert (done.returncode, done.stdout) == (0, "2 audited, 2 not well supported, 0 could not be audited\n"), (
        done.stderr
    )
    assert {job.request.input_text for job in server.jobs.values()} == {
        "The sky is blue.",
        "Unemployment rose to 4 percent last month.",
    }
    assert (tmp_path / "output").read_text() == "findings=2\n"
    _, comment = forge.comments
    assert "**`post.md`**: MISLEADING. Mostly accurate." in comment["body"]
    assert "MISLEADING" in MarkdownIt().render(comment["body"])
    done = run(tmp_path, forge, server, **{"fail-on-findings": "true", "max-files": "1"})
    assert done.returncode == 1, done.stderr
    assert len(forge.comments) == 2, "the comment is written anew, not again"
    assert "1 more changed files were not audited" in forge.comments[1]["body"]


def test_a_file_without_words_of_the_pull_request_costs_nothing(
    tmp_path: Path, forge: Forge, server: JobServer
) -> None:
    kinds = [("empty.md", "added"), ("post.md", "modified"), ("moved.md", "renamed")]
    forge.files = [{"filename": name, "status": status, "changes": 0} for name, status in kinds]
    (tmp_path / "empty.md").touch()
    done = run(tmp_path, forge, server)
    assert (done.returncode, done.stdout) == (0, "0 audited, 0 not well supported, 0 could not be audited\n")
    assert "No Markdown file was changed." in forge.comments[1]["body"]
    assert server.asked == []


def test_two_runs_at_once_leave_one_comment(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    forge.meanwhile = [f"{MODULE.MARK}\nof the other run"]
    done = run(tmp_path, forge, server)
    assert done.returncode == 0, done.stderr
    _, comment = forge.comments
    assert "**`post.md`**" in comment["body"]


def test_a_comment_that_somebody_else_began_with_the_mark_stays_theirs(
    tmp_path: Path, forge: Forge, server: JobServer
) -> None:
    theirs = {"id": 1, "body": f"{MODULE.MARK}\nAll is well supported.", "user": {"login": "mallory"}}
    forge.comments = [dict(theirs)]
    for _ in range(2):
        done = run(tmp_path, forge, server)
        assert done.returncode == 0, done.stderr
    first, ours = forge.comments
    assert first == theirs
    assert "**`post.md`**" in ours["body"]


def test_a_token_whose_owner_is_unknown_is_said_in_one_line(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    forge.is_silent_of_tokens = True
    forge.comments.append({"id": 2, "body": MODULE.MARK, "user": {"login": BOT}})
    done = run(tmp_path, forge, server)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "whose token" in done.stderr


@pytest.mark.parametrize("status", [200, 502])
def test_a_page_of_a_proxy_is_no_finding(tmp_path: Path, forge: Forge, server: JobServer, status: int) -> None:
    forge.is_replaced = status
    done = run(tmp_path, forge, server)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert f"GitHub answered {status} to GET /repos/a/b/pulls/7/files: " in done.stderr


def test_nothing_to_audit_and_nothing_that_could_be(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    server.ends_as = "FAILED"
    done = run(tmp_path, forge, server)
    assert done.returncode == 2, done.stderr
    assert "could not be audited" in forge.comments[1]["body"]
    assert API_KEY not in done.stdout + done.stderr + forge.comments[1]["body"]
    forge.files = forge.files[2:]
    assert run(tmp_path, forge, server).returncode == 0
    assert "No Markdown file was changed." in forge.comments[1]["body"]


def test_what_was_paid_for_is_shown_where_no_comment_may_be_written(
    tmp_path: Path, forge: Forge, server: JobServer
) -> None:
    server.verdict = "MISLEADING"
    forge.is_read_only = True
    done = run(tmp_path, forge, server)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert done.stderr.startswith("GitHub answered 403 to POST /repos/a/b/issues/7/comments: ")
    assert done.stderr.endswith(": Resource not accessible by integration\n"), "a locked conversation is another reason"
    assert (tmp_path / "output").read_text() == "findings=2\n"
    assert "**`post.md`**: MISLEADING." in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_a_cancelled_workflow_cancels_the_jobs_of_its_files(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    server.fail("GET /v1/jobs/{id}", Fault(is_slow=True))
    process = start(tmp_path, forge, server, **{"max-files": "1"})
    assert server.stalls.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    (job,) = server.jobs.values()
    assert (process.returncode, said, job.status) == (130, f"The job {job.id} was cancelled.\n", "CANCELED")


def test_an_event_of_no_pull_request_is_said_in_one_line(tmp_path: Path, forge: Forge, server: JobServer) -> None:
    done = run(tmp_path, forge, server, {"ref": "refs/heads/main"})
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "on: pull_request" in done.stderr


@pytest.mark.parametrize("number", ["", "many", "-1", "1.5"])
@pytest.mark.parametrize("name", ["max-claims", "max-files"])
def test_an_input_that_is_no_number_is_said_in_one_line(
    tmp_path: Path, forge: Forge, server: JobServer, name: str, number: str
) -> None:
    done = run(tmp_path, forge, server, **{name: number})
    assert (done.returncode, done.stderr) == (2, f"The input {name} is not a number: {number!r}\n"), (
        "1 would be a finding"
    )
    assert server.asked == []


def test_the_mark_of_windows_before_a_text_is_none_of_its_words(
    tmp_path: Path, forge: Forge, server: JobServer
) -> None:
    forge.files = [{"filename": "windows.md", "status": "added", "changes": 1}]
    (tmp_path / "windows.md").write_bytes(b"\xef\xbb\xbfThe sky\r\nis blue.")
    assert run(tmp_path, forge, server).returncode == 0
    assert [job.request.input_text for job in server.jobs.values()] == ["The sky\nis blue."]
