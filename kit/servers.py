"""Parse settings that name several servers, of which any may be down.

Shapes: brokers are comma-separated addresses; PostgreSQL's hosts are listed in one address, as in all libpq tools.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

DRIVER = "postgresql+psycopg"


def split_addresses(addresses: str) -> list[str]:
    """The addresses of a comma-separated list."""
    return [address.strip() for address in addresses.split(",") if address.strip()]


def redact_addresses(addresses: list[str]) -> str:
    """The addresses without schemes and credentials, for messages."""
    return ", ".join(address.rpartition("//")[2].rpartition("@")[2] for address in addresses)


def database_url(url: str) -> str:
    """Convert an address that PostgreSQL's tools accept into the form that SQLAlchemy parses.

    Of several hosts the writable one is used, unless the address says otherwise.
    Raises: ValueError: `url` is not an address of PostgreSQL.
    """
    for plain in ("postgres://", "postgresql://"):
        if url.startswith(plain):
            url = f"{DRIVER}://{url.removeprefix(plain)}"
    parts = urlsplit(url)
    credentials, at, hosts = parts.netloc.rpartition("@")
    query = parse_qsl(parts.query)
    if "," in hosts:
        query += [("host", host) for host in split_addresses(hosts)]
        if "target_session_attrs" not in dict(query):
            query.append(("target_session_attrs", "read-write"))
        url = f"{parts.scheme}://{credentials}{at}{parts.path}?{urlencode(query, quote_via=quote)}"
    try:
        if make_url(url).drivername == DRIVER:
            return url
    except ArgumentError:
        pass
    raise ValueError("not an address of PostgreSQL")
