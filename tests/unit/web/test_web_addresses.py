"""Only the public internet is reachable."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.web.addresses import is_local_name, is_public

SHUT = """
0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 168.63.129.16
169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255
198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.255 240.0.0.0 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::808:808
100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1
2002:808:808::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1
"""

OPEN = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15
168.63.129.17 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255
198.20.0.0 223.255.255.255 2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a02:ec80:300:ed1a::1 3ffe::1
"""


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("address", SHUT.split())
def test_special_addresses_are_shut(address: str) -> None:
    """2.13-05: SSRF-safe image fetch."""
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", OPEN.split())
def test_ordinary_addresses_are_open(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_never_more_open_than_the_standard_library_for_ipv4(address: IPv4Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=6))
def test_never_more_open_than_the_standard_library_for_ipv6(address: IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_no_ipv6_form_of_an_ipv4_address_is_open(address: IPv4Address) -> None:
    number = int(address)
    for form in (
        number,
        0xFFFF << 32 | number,
        0xFFFF << 48 | number,
        0x64FF9B << 96 | number,
        0x64FF9B0001 << 80 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | number << 64,
    ):
        assert not is_public(IPv6Address(form))


@pytest.mark.parametrize(
    "name",
    ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.localhost.", "printer.local", "x.internal", "", "."],
)
def test_local_names_are_local(name: str) -> None:
    assert is_local_name(name)


@pytest.mark.parametrize("name", ["example.com", "localhost.example.com", "mylocal", "x.localhosts", "local.example"])
def test_other_names_are_not(name: str) -> None:
    assert not is_local_name(name)
