"""The runner tells a failing case, a foreign kind and an unreadable file apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main

GOOD = {"id": "good", "input": "198.51.100.7", "output": "198.51.100"}
HASH_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
NORMALIZED = {
    "normalized": "a",
    "sha256": HASH_OF_A,
    "length_utf16": 1,
    "index": {"normalized": "a", "to_raw": [0]},
}
BAD = {"id": "bad", "input": "198.51.100.7", "output": "198.51"}


def write(folder: Path, name: str, document: Any) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def cases(kind: str, *given: dict[str, Any]) -> dict[str, Any]:
    return {"name": kind, "what": "", "cases": list(given)}


def test_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a", cases("ip_prefix", GOOD))
    write(tmp_path, "c", cases("normalize", {"input": "a", "output": NORMALIZED}))
    write(tmp_path, "b", cases("weather", {"input": 1, "output": 2}))
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == ["ip_prefix 1/1", "weather not implemented", "normalize 1/1"]


def test_a_failing_case_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a", cases("ip_prefix", GOOD, BAD, {"id": "broken", "input": 7, "output": ""}))
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == "ip_prefix 1/3 failed: bad, broken (AttributeError)\n"


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("normalize", {"input": "a", "output": {**NORMALIZED, "normalized": "b"}}),
        ("normalize", {"input": "a", "output": {**NORMALIZED, "index": {"normalized": "a", "to_raw": [1]}}}),
        ("html_text", {"input": {"html": "<p>a</p>"}, "output": {"text": "a", "sha256": "", "length_utf16": 1}}),
        ("html_text", {"input": {"html": "a"}, "output": {"text": "a"}, "dom_output": "b"}),
        ("wikipedia_text", {"input": {"html": "a"}, "output": {"text": "b", "sha256": "", "length_utf16": 1}}),
        ("wikipedia_identity", {"input": {"fn": "normalizeWikipediaTitleToken", "token": "a b"}, "output": "a b"}),
        ("wikipedia_identity", {"input": {"fn": "unheard of"}, "output": None}),
        ("version_identity", {"input": {"contentText": "a"}, "output": {"canonical": {"error": {}}}}),
        ("host_safety", {"input": {"host": "a.example", "dns": ["203.0.114.1"]}, "output": {
            "is_blocked": True, "whatwg_hostname": "a.example"}}),
        ("url_hosts", {"input": {"url": "https://b.example/"}, "output": {
            "url": {"protocol": "https:", "username": "", "password": "", "hostname": "b.example"},
            "is_private_ip": False, "locally_scoped": True}}),
        ("image_occurrences", {"input": {"html": "a", "baseUrl": "https://a.example/"}, "output": {}}),
    ],
)  # fmt: skip
def test_wrong_expectations_fail(tmp_path: Path, kind: str, case: dict[str, Any]) -> None:
    write(tmp_path, "a", cases(kind, {"id": "wrong", **case}))
    assert main([str(tmp_path)]) == 1


def test_a_picture_before_the_text_fails_each_step_that_needs_it(tmp_path: Path) -> None:
    picture = {"originalIndex": 0, "normalizedTextOffset": -1, "sourceUrl": "https://a.example/b.png"}
    failing = ("request_validation", "canonical", "occurrences_hash", "version_hash")
    output: dict[str, Any] = {"content_hash": HASH_OF_A, **{step: {"error": {}} for step in failing}}
    given = {"contentText": "a", "occurrences": [picture]}
    write(tmp_path, "a", cases("version_identity", {"input": given, "output": output}))
    assert main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("host", "dns", "public"),
    [
        ("::ffff:8.8.8.8", None, "8.8.8.8"),
        ("mixed.example", ["8.8.8.8", "64:ff9b::808:808"], "8.8.8.8"),
    ],
)
def test_a_host_of_one_address_that_we_block_is_shut_as_a_whole(
    tmp_path: Path, host: str, dns: list[str] | None, public: str
) -> None:
    output = {"is_blocked": False, "public_addresses": [public], "whatwg_hostname": None}
    write(tmp_path, "a", cases("host_safety", {"input": {"host": host, "dns": dns}, "output": output}))
    assert main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "document",
    ["{", "[]", '{"cases": 1}', '{"cases": [{"id": 1}]}', json.dumps(cases("html_text", {"input": {}, "output": {}}))],
)
def test_what_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str) -> None:
    write(tmp_path, "a", document)
    assert main([str(tmp_path)]) == 2
    assert "a.json" in capsys.readouterr().err


def test_a_wrong_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert main([str(tmp_path)]) == 2
    assert main([]) == 2
    assert capsys.readouterr().out == ""
