"""A name is reachable only if every one of its addresses is public."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.web import WebError
from kit.web.addresses import is_public
from kit.web.resolve import public_addresses


async def addresses(host: str, *answers: str) -> list[str]:
    async def resolve(_: str) -> Sequence[str]:
        return answers

    return [str(address) for address in await public_addresses(host, resolve)]


async def test_public_addresses_keep_their_order_without_repetition() -> None:
    assert await addresses("site.example", "8.8.8.8", "2606:4700::1", "8.8.8.8") == ["8.8.8.8", "2606:4700::1"]


async def test_an_address_is_not_looked_up() -> None:
    assert await addresses("1.1.1.1", "127.0.0.1") == ["1.1.1.1"]


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("private", ["127.0.0.1", "::1", "fe80::1%eth0", "64:ff9b::7f00:1"])
async def test_one_private_address_shuts_the_name(private: str) -> None:
    """2.13-05: SSRF-safe image fetch."""
    with pytest.raises(WebError) as caught:
        await addresses("site.example", "8.8.8.8", private)
    assert caught.value.kind == "blocked_address"
    assert private not in str(caught.value)


async def test_a_local_name_is_shut_whatever_the_resolver_says() -> None:
    with pytest.raises(WebError) as caught:
        await addresses("localhost.", "8.8.8.8")
    assert caught.value.kind == "blocked_address"


@pytest.mark.parametrize("answers", [(), ("not an address",)])
async def test_a_name_without_addresses_is_unresolvable(answers: tuple[str, ...]) -> None:
    with pytest.raises(WebError) as caught:
        await addresses("site.example", *answers)
    assert caught.value.kind == "unresolvable"


@pytest.mark.parametrize("error", [OSError(), UnicodeError()])
async def test_a_failing_resolver_means_unresolvable(error: Exception) -> None:
    async def resolve(_: str) -> Sequence[str]:
        raise error

    with pytest.raises(WebError) as caught:
        await public_addresses("site.example", resolve)
    assert caught.value.kind == "unresolvable"


@given(st.lists(st.ip_addresses(), min_size=1))
async def test_what_is_returned_is_public(found: list) -> None:  # type: ignore[type-arg]  # either kind of address
    try:
        result = await addresses("site.example", *map(str, found))
    except WebError:
        assert not all(map(is_public, found))
    else:
        assert all(map(is_public, found))
        assert set(result) == set(map(str, found))
