"""The rules hold for our sources; and each rule is seen to refuse what it is there to refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.architecture import rules
from tests.architecture.sources import CLIENT, ROOT, Source, sources, texts

TIME_AND_CHANCE_ALLOWED: Final = {
    "kit/clock.py": {
        "datetime.datetime.now": "the one place that reads the time",
        "uuid_utils.compat.uuid7": "the one place that makes fresh ids",
        "secrets.token_bytes": "salts of facts, which nobody may guess",
    },
    "kit/vault.py": {"os.urandom": "nonces and master keys must not be foreseeable, even by a replay"},
    "kit/embedded/ports.py": {"random.randint": "spreads ports of servers started at the same moment"},
    "kit/embedded/nats_accounts.py": {"secrets.token_urlsafe": "makes the embedded broker's passwords, once"},
    "kit/embedded/weed_security.py": {"secrets.token_hex": "makes the keys of one start of the embedded blob store"},
    "kit/embedded/seaweedfs.py": {
        "secrets.token_hex": "credentials of an embedded server",
        "secrets.token_urlsafe": "credentials of an embedded server",
    },
    "services/curator/controls.py": {"secrets.token_hex": "salts of controls, which nobody may guess"},
    "services/gateway/desk/sessions.py": {"secrets.token_urlsafe": "tokens of forms, which nobody may guess"},
    "services/commands/demo.py": {"secrets.token_urlsafe": "the demo's own instance key"},
    "services/commands/keys.py": {"secrets.token_urlsafe": "a new instance key"},
    "services/commands/accounts.py": {"secrets.token_bytes": "a new webhook secret"},
    "services/commands/witness.py": {"secrets.token_bytes": "the keys of a new witness"},
}


def test_time_and_chance_enter_through_the_clock() -> None:
    assert list(rules.time_and_chance(sources(), TIME_AND_CHANCE_ALLOWED)) == []
    assert list(rules.exceptions_without_use(sources(), TIME_AND_CHANCE_ALLOWED)) == []


def test_lifetimes_do_not_follow_the_time_of_day() -> None:
    assert list(rules.lifetimes_by_time_of_day(sources())) == []


def test_no_settings_are_read_at_import() -> None:
    assert list(rules.settings_at_import((*sources(), *sources(*CLIENT)))) == []


def test_every_module_has_a_docstring() -> None:
    of_tests = [file for file in sources("tests") if file.tree.body]
    assert list(rules.without_docstring((*sources(), *sources(*CLIENT), *of_tests))) == []


def test_names_say_what_is_in_a_module() -> None:
    assert list(rules.vague_names((*sources(), *sources(*CLIENT), *sources("tests")))) == []


def test_sql_stands_where_it_belongs() -> None:
    assert list(rules.sql_elsewhere(sources("services"))) == []


def test_nodes_are_told_apart_by_what_they_are() -> None:
    assert list(rules.nodes_compared(sources())) == []


def test_no_check_is_silenced_without_a_reason() -> None:
    assert [found for path, text in texts() for found in rules.without_reason(path, text)] == []


@pytest.mark.parametrize("why", ["", "  # it is a text", "  # noqa: S101 (why)"])
@pytest.mark.parametrize("what", ["type: ignore", "type: ignore[arg-type]", "noqa: S101, E501", "noqa"])
def test_a_silenced_check_is_seen(what: str, why: str) -> None:
    assert bool(list(rules.without_reason("kit/a.py", f"a = 1  # {what}{why}\n"))) is (not why)


def test_nothing_names_the_machine_it_was_made_on() -> None:
    assert [found for path, text in texts() for found in rules.traces(path, text)] == []


def test_every_setting_is_documented() -> None:
    told = (ROOT / "docs" / "operations" / "settings.md").read_text()
    wanted = {*rules.variables(sources()), *rules.options(sources("services"))}
    assert sorted(name for name in wanted if f"`{name}`" not in told) == [], "not in docs/operations/settings.md"


def no_time(files: list[Source]) -> Iterator[str]:
    return rules.time_and_chance(files, {})


NODE: Final = "from selectolax.lexbor import LexborNode\n"
BAD: Final = [
    (no_time, "kit/a.py", "from datetime import datetime\nnow = datetime.now()"),
    (no_time, "kit/a.py", "import datetime\nnow = datetime.datetime.utcnow()"),
    (no_time, "kit/a.py", "import datetime as d\ntoday = d.date.today()"),
    (no_time, "kit/a.py", "import time\ndef f(): return time.time()"),
    (no_time, "kit/a.py", "from time import time_ns\nx = time_ns()"),
    (no_time, "kit/a.py", "from uuid import UUID, uuid4\nx = field(default_factory=uuid4)"),
    (no_time, "kit/a.py", "import uuid\nx = uuid.uuid1()"),
    (no_time, "kit/a.py", "import random as r\nx = r.choice('ab')"),
    (no_time, "kit/a.py", "from random import Random\nx = Random()"),
    (no_time, "kit/a.py", "from os import urandom\nx = urandom(4)"),
    (rules.lifetimes_by_time_of_day, "kit/a.py", "def f(self):\n    return self._clock.now() >= self._expires_at"),
    (rules.lifetimes_by_time_of_day, "kit/a.py", "def f(clock, at):\n    return 5 < clock.now() - at"),
    (rules.lifetimes_by_time_of_day, "kit/a.py", "def f(clock, at):\n    now = clock.now()\n    return now - at > 5"),
    (rules.nodes_compared, "platforms/a.py", f"{NODE}def f(a: LexborNode) -> bool:\n    return a.parent == g(a)"),
    (rules.nodes_compared, "platforms/a.py", f"{NODE}def f(a: LexborNode | None, b: object):\n    return b != a"),
    (
        rules.nodes_compared,
        "platforms/a.py",
        f"{NODE}def f(a):\n    b = a.css_first('p')\n    return b in a",
    ),
    (rules.settings_at_import, "kit/a.py", "class S(BaseSettings):\n    x: int\nSETTINGS = S()"),
    (rules.settings_at_import, "kit/a.py", "class S(BaseSettings):\n    x: int\ndef f(s=S()): ..."),
    (rules.settings_at_import, "kit/a.py", "from kit.settings import load\nclass A:\n    s = load(A)"),
    (rules.settings_at_import, "kit/a.py", "import os\nHOST = os.environ['HOST']"),
    (rules.without_docstring, "kit/a.py", "x = 1"),
    (rules.without_docstring, "kit/a.py", '"""  """\nx = 1'),
    (rules.vague_names, "kit/utils.py", ""),
    (rules.vague_names, "services/common/ports.py", ""),
    (rules.sql_elsewhere, "services/gateway/rpc.py", "from sqlalchemy import select"),
    (rules.sql_elsewhere, "services/ingest/handlers.py", "def f():\n    import psycopg"),
    (rules.sql_elsewhere, "services/selector/domain.py", "from contracts.readmodel import candidate"),
]


@pytest.mark.parametrize(("check", "path", "text"), BAD, ids=[f"{n}-{b[0].__name__}" for n, b in enumerate(BAD)])
def test_a_rule_refuses(check: Callable[[list[Source]], Iterator[str]], path: str, text: str) -> None:
    assert list(check([Source.parse(path, text)])) != []


GOOD: Final = [
    (no_time, "kit/a.py", "from time import monotonic, perf_counter\nx = monotonic() + perf_counter()"),
    (no_time, "kit/a.py", "from uuid import UUID, uuid5\nx = uuid5(UUID(int=1), 'a')"),
    (no_time, "kit/a.py", "def f(clock): return clock.now()"),
    (rules.lifetimes_by_time_of_day, "kit/a.py", "def f(clock, at): return clock.monotonic() - at > 5"),
    (rules.lifetimes_by_time_of_day, "kit/a.py", "def f(clock): return Told(clock.now())"),
    (no_time, "kit/a.py", "from datetime import UTC, datetime\nx = datetime.fromtimestamp(1, UTC)"),
    (rules.settings_at_import, "kit/a.py", "from kit.settings import load\ndef f(): return load(S)"),
    (rules.settings_at_import, "kit/a.py", "import os\ndef f(): return os.environ['HOST']"),
    (rules.sql_elsewhere, "services/gateway/record/status.py", "from sqlalchemy import select"),
    (rules.sql_elsewhere, "services/projector/writes.py", "import psycopg"),
]


@pytest.mark.parametrize(("check", "path", "text"), GOOD, ids=range(len(GOOD)))
def test_a_rule_lets_pass(check: Callable[[list[Source]], Iterator[str]], path: str, text: str) -> None:
    assert list(check([Source.parse(path, text)])) == []


@pytest.mark.parametrize(
    "text",
    [
        "see /" + "home/ada/errata/notes.md",
        'DATA = "/' + 'root/data"',
        "cd /" + "work/main",
        "pip install --index" + "-url https://packages.example/simple x",
        "--extra-index" + "-url=https://packages.example/simple",
        '"resolved' + '": "https://packages.example/a.tgz"',
    ],
)
def test_traces_of_a_machine_are_found(text: str) -> None:
    assert list(rules.traces("a.md", text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/home/ada",
        "$HOME/root",
        "pip-compile --no-emit-index-url",
        '"version": "1.0.0", "integrity": "sha512-abc"',
        "the root/work folder",
    ],
)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert list(rules.traces("a.md", text)) == []


def test_variables_are_found_where_they_are_read() -> None:
    text = """
class S(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="OPENERRATA_A_", frozen=True)
    slots: int = 4
    wait_s: float = Field(default=1.0)
    def property(self) -> int: ...
"""
    assert list(rules.variables([Source.parse("a.py", text)])) == ["OPENERRATA_A_SLOTS", "OPENERRATA_A_WAIT_S"]
    assert list(rules.options([Source.parse("a.py", "x = option('--d', envvar='OPENERRATA_D')")])) == ["OPENERRATA_D"]


def test_an_exception_that_nobody_needs_is_named() -> None:
    unused = {"kit/a.py": {"random.randint": "no reason"}, "kit/gone.py": {"time.time": "none"}}
    found = list(rules.exceptions_without_use([Source.parse("kit/a.py", "x = 1")], unused))
    assert found == ["kit/a.py does not use random.randint", "kit/gone.py does not use time.time"]
