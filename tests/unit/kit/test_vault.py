"""A sealed key opens for its own run and with its own master key, and for nothing else."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.vault import KEY_BYTES, KeyUnusable, MasterKey, seal, unseal
from tests.architecture.sources import ROOT

MASTER, OTHER = MasterKey(b"m" * KEY_BYTES), MasterKey(b"o" * KEY_BYTES)
RUN, OTHER_RUN = UUID(int=1).bytes, UUID(int=2).bytes

secrets = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES).map(MasterKey)
runs = st.uuids().map(lambda run: run.bytes)


@pytest.mark.requirement("2.2-06")
@given(secrets, runs, st.text())
def test_what_was_sealed_is_opened(master: MasterKey, run: bytes, plaintext: str) -> None:
    """2.2-06: User key never stored in plaintext server-side."""
    sealed = seal(master, run, plaintext)
    assert unseal((master,), run, sealed) == plaintext
    assert len(plaintext) < 4 or plaintext.encode() not in sealed


@given(secrets, runs, runs)
def test_it_does_not_open_for_another_run(master: MasterKey, run: bytes, other: bytes) -> None:
    if run != other:
        with pytest.raises(KeyUnusable):
            unseal((master,), other, seal(master, run, "sk-secret"))


@given(st.data())
def test_it_does_not_open_when_altered(data: st.DataObject) -> None:
    sealed = bytearray(seal(MASTER, RUN, "sk-secret"))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(KeyUnusable):
        unseal((MASTER, OTHER), RUN, bytes(sealed))


@given(st.binary(max_size=80))
def test_bytes_that_nobody_sealed_do_not_open(sealed: bytes) -> None:
    with pytest.raises(KeyUnusable):
        unseal((MASTER,), RUN, sealed)


@pytest.mark.parametrize("length", [0, 15, 16, 27, 28, 40])
def test_truncated_bytes_do_not_open(length: int) -> None:
    with pytest.raises(KeyUnusable):
        unseal((MASTER,), RUN, seal(MASTER, RUN, "sk-secret")[:length])


def test_a_master_key_can_be_changed_while_runs_are_under_way() -> None:
    before = seal(OTHER, RUN, "sk-secret")
    assert unseal((MASTER, OTHER), RUN, before) == "sk-secret"
    assert unseal((MASTER, OTHER), RUN, seal(MASTER, RUN, "sk-new")) == "sk-new"
    with pytest.raises(KeyUnusable):
        unseal((MASTER,), RUN, before)


def test_sealing_twice_does_not_show_that_the_key_is_the_same() -> None:
    assert seal(MASTER, RUN, "sk-secret") != seal(MASTER, RUN, "sk-secret")
    assert seal(MASTER, RUN, "sk-secret")[:16] == seal(MASTER, OTHER_RUN, "sk-other")[:16] == MASTER.key_id.encode()


@given(secrets)
def test_a_master_key_is_read_as_it_is_written(master: MasterKey) -> None:
    assert MasterKey.parse(str(master)) == master
    assert MasterKey.parse(base64.urlsafe_b64encode(master.secret).decode()) == master
    assert base64.urlsafe_b64encode(master.secret).decode()[:20] not in repr(master)


def test_generated_keys_differ() -> None:
    assert MasterKey.generate() != MasterKey.generate()


def test_of_processes_that_make_the_master_key_at_once_all_have_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "master.key"

    def make_later() -> MasterKey:
        file.write_text(f"{MASTER}\n")
        return OTHER

    monkeypatch.setattr(MasterKey, "generate", make_later)
    assert MasterKey.of_file(file) == MASTER


@pytest.mark.parametrize("text", ["", "short", str(MASTER)[:-2], str(MASTER) + "AAAA", "ü" * 43, "!" * 43])
def test_what_is_no_master_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        MasterKey.parse(text)


def test_while_the_master_key_is_changed_every_process_opens_what_any_other_sealed() -> None:
    """Step by step as the operator's page says, since some processes take a step before others."""
    page = (ROOT / "docs" / "operations" / "tasks.md").read_text().partition("**Changing the master key:**")[2]
    keys = {"old": MASTER, "new": OTHER}
    listed = ("old", *re.findall(r"`(\w+(?:,\w+)*)`", page.partition("\n\n")[0]), "new")
    steps = [tuple(keys[name] for name in step.split(",")) for step in listed]
    for before, after in pairwise(steps):
        assert unseal(before, RUN, seal(after[0], RUN, "sk-secret")) == "sk-secret", listed
        assert unseal(after, RUN, seal(before[0], RUN, "sk-secret")) == "sk-secret", listed
