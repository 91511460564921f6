"""A sealed set of posts runs only with the proof that it was committed to, and its file is what was committed to."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.bench_cases import Options
from tests.bench.sealed import add_salt, hash_file, read_posts, seal

SALT: Final = "5" * 64
POSTS: Final = """
[[post]]
kind = "satire"
id = "a-joke"
platform = "X"
published = 2024-04-01
sign = "said a fish"
text = "The pond is closed, said a fish."
"""


def test_a_file_is_sealed_once_and_for_this_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(POSTS)
    sealed = seal(file)
    assert sealed.decode().partition("\n")[2] == POSTS
    assert file.read_bytes() == sealed == seal(file)
    assert file.stat().st_mode & 0o077 == 0
    assert [post.id for post in read_posts(sealed)] == ["a-joke"]
    assert hash_file(sealed) == sha256(file.read_bytes()).hexdigest(), "as `sha256sum` prints it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (POSTS.replace('kind = "satire"\n', ""), "kind"),
        (POSTS.replace("said a fish.", "said he."), "the sign must stand in the text"),
        (POSTS * 2, "ids used more than once"),
        ("post = []", "a set has 1 to 500 posts"),
        ("[[post", "post"),
        ("\xff", "codec"),
    ],
)
def test_what_is_no_set_of_posts_is_not_sealed(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "cases.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(click.ClickException, match=said):
        seal(file)
    assert file.read_bytes() == text.encode("latin-1"), "what is refused is left as it was"


@given(st.binary())
def test_two_salts_give_two_hashes_and_none_gives_none(data: bytes) -> None:
    one, other = add_salt(data, SALT), add_salt(data, "6" * 64)
    assert (hash_file(one) == hash_file(other)) == (one == data)
    assert add_salt(one, "7" * 64) == one
    if one != data:
        with pytest.raises(ValueError, match="not sealed"):
            hash_file(data)


@pytest.mark.parametrize("named", [("sealed",), ("sealed", "proof"), ("policy",), ("proof", "policy")])
def test_a_sealed_set_needs_its_proof_and_a_policy(named: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="--sealed needs --proof and --policy"):
        Options(**{each: Path(each) for each in named})  # type: ignore[arg-type]  # mypy sees no keywords here
