"""The recorded host decisions, read where they lie; ours may be stricter as their readme says, never laxer."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from kit.web import Url, WebError, parse_url
from kit.web.addresses import is_local_name, is_public
from kit.web.resolve import public_addresses

FOLDER = Path(os.environ.get("OPENERRATA_VECTORS", Path(__file__).parents[4] / "shared" / "vectors"))


def cases(name: str) -> list[dict[str, Any]]:
    path = FOLDER / f"{name}.json"
    if not path.exists():
        assert os.environ.get("CI") != "true", f"{path} is needed here; set OPENERRATA_VECTORS"
        warnings.warn(f"vectors not run: {name}", stacklevel=2)
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    return found


def read(text: str) -> Url | None:
    try:
        return parse_url(text)
    except WebError:
        return None


@pytest.mark.requirement("2.13-05")
async def test_hosts() -> None:
    for case in cases("host_safety"):
        if "host" not in case["input"]:
            continue
        host, dns = case["input"]["host"], case["input"]["dns"]

        async def resolve(_: str, answers: Sequence[str] | None = dns) -> Sequence[str]:
            if answers is None:
                raise OSError
            return answers

        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        try:
            url = parse_url(f"http://{bracketed}/")
            ours = {str(address) for address in await public_addresses(url.host, resolve)}
        except WebError:
            ours = set()
        recorded = case["output"]
        if recorded["is_blocked"] is not False and ours:  # the record asked DNS for what a browser reads as an address
            assert ours == {recorded["whatwg_hostname"]}, case["id"]
        elif recorded["is_blocked"] is False:
            expected = {str(address) for address in map(ip_address, recorded["public_addresses"]) if is_public(address)}
            assert ours == expected, case["id"]


@pytest.mark.requirement("2.13-05")
def test_urls() -> None:
    for case in cases("url_hosts"):
        recorded = case["output"]
        url = read(case["input"]["url"])
        found = recorded["url"]
        web = found is not None and found["protocol"] in ("http:", "https:")
        expected = web and not found["username"] and not found["password"] and not case.get("peer_differs")
        assert (url is not None) == expected, case["id"]
        if url is None:
            continue
        assert url.host == recorded["url"]["hostname"].strip("[]"), case["id"]
        shut = is_local_name(url.host) or (url.address is not None and not is_public(url.address))
        assert shut or not (recorded["is_private_ip"] or recorded["locally_scoped"]), case["id"]
