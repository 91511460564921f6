"""Settings that name several servers: any of them may be down, the next one is tried.

Shapes: brokers are whole addresses after commas; PostgreSQL's hosts stand in one address, as in every tool of libpq.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

DRIVER = "postgresql+psycopg"


def listed(addresses: str) -> list[str]:
    """The addresses of a comma-separated list."""
    return [address.strip() for address in addresses.split(",") if address.strip()]


def shown(addresses: list[str]) -> str:
    """The same for messages: without schemes and credentials."""
    return ", ".join(address.rpartition("//")[2].rpartition("@")[2] for address in addresses)


def database_url(url: str) -> str:
    """Bring what tools of PostgreSQL accept into the one form that SQLAlchemy parses.

    Of several hosts the one that takes writes is meant, unless the address says otherwise. Raises: ValueError.
    """
    for plain in ("postgres://", "postgresql://"):
        if url.startswith(plain):
            url = f"{DRIVER}://{url.removeprefix(plain)}"
    parts = urlsplit(url)
    credentials, at, hosts = parts.netloc.rpartition("@")
    query = parse_qsl(parts.query)
    if "," in hosts:
        query += [("host", host) for host in listed(hosts)]
        if "target_session_attrs" not in dict(query):
            query.append(("target_session_attrs", "read-write"))
        url = f"{parts.scheme}://{credentials}{at}{parts.path}?{urlencode(query, quote_via=quote)}"
    try:
        if make_url(url).drivername == DRIVER:
            return url
    except ArgumentError:
        pass
    raise ValueError("not an address of PostgreSQL")
