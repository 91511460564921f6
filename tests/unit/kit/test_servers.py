"""Addresses of several servers in one setting."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import make_url

from kit.servers import database_url, redact_addresses, split_addresses


def arguments(url: str) -> dict[str, Any]:
    """What the driver is given for an address."""
    parsed = make_url(database_url(url))
    return dict(parsed.get_dialect()().create_connect_args(parsed)[1])


def test_brokers_are_addresses_after_commas_and_are_shown_without_credentials() -> None:
    found = split_addresses("nats://u:secret@a:4222, tls://b:4223,c,")
    assert found == ["nats://u:secret@a:4222", "tls://b:4223", "c"]
    assert redact_addresses(found) == "a:4222, b:4223, c"


def test_several_hosts_of_postgresql_reach_the_driver_and_the_writable_one_is_meant() -> None:
    assert arguments("postgresql://u:p%40w@a:5432,b:5433/name?sslmode=require") == {
        "user": "u",
        "password": "p@w",
        "dbname": "name",
        "host": "a,b",
        "port": "5432,5433",
        "sslmode": "require",
        "target_session_attrs": "read-write",
    }
    assert arguments("postgres://a,b/name?target_session_attrs=any")["target_session_attrs"] == "any"


@pytest.mark.parametrize(
    "url", ["postgresql://u@a:1/n", "postgresql+psycopg://u@/n?host=/tmp/x&port=5", "postgresql://u@/n?host=a:1&host=b"]
)
def test_one_host_and_hosts_in_the_query_stay_as_they_are(url: str) -> None:
    assert database_url(url).partition("://")[2] == url.partition("://")[2]
    assert "target_session_attrs" not in arguments(url)


@pytest.mark.parametrize("url", ["nowhere", "mysql://u:p@h/x", "postgresql://u:p@a:x/n", "", "postgresql://[a/n"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        database_url(url)
