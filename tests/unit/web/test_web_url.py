"""URLs are read as a browser reads them, or refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.web import WebError, parse_url


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("http://example.com", "http://example.com/"),
        (" HTTP://EXAMPLE.com:80/A?b=c#d ", "http://example.com/A?b=c"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("https://example.com?x", "https://example.com/?x"),
        ("http:/example.com", "http://example.com/"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("ht\ntp://exa\tmple.com/", "http://example.com/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://%6cocalhost/", "http://localhost/"),
        ("http://example.com\\@evil.example/", "http://example.com/@evil.example/"),
        ("http://[0:0::1]/", "http://[::1]/"),
        ("http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://example.com/a b<>\x7f", "http://example.com/a%20b%3C%3E%7F"),
        ("http://www.קפה.example./", "http://www.xn--8db5ai.example./"),
        ("https://de.wikipedia.org/wiki/%C3%84", "https://de.wikipedia.org/wiki/%C3%84"),
    ],
)
def test_reads_like_a_browser(text: str, read: str) -> None:
    assert str(parse_url(text)) == read


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "malformed_url"),
        ("example.com", "malformed_url"),
        ("//example.com/", "malformed_url"),
        ("javascript:alert(1)", "bad_scheme"),
        ("file:///etc/passwd", "bad_scheme"),
        ("ftp://example.com/", "bad_scheme"),
        ("http://user:pass@example.com/", "credentials_in_url"),
        ("http://user@example.com/", "credentials_in_url"),
        ("http://example.com@127.0.0.1/", "credentials_in_url"),
        ("http://", "malformed_url"),
        ("http://exa%20mple.com/", "malformed_url"),
        ("http://exa%00mple.com/", "malformed_url"),
        ("http://example.com:65536/", "malformed_url"),
        ("http://example.com:8 0/", "malformed_url"),
        ("http://example.com:٣/", "malformed_url"),
        ("http://1.2.3.4.5/", "malformed_url"),
        ("http://256.1.1.1/", "malformed_url"),
        ("http://08.8.8.8/", "malformed_url"),
        ("http://a.0x/", "malformed_url"),
        ("http://::1/", "malformed_url"),
        ("http://[::1%25lo]/", "malformed_url"),
        ("http://[::1]x/", "malformed_url"),
        ("http://xn--zn7c.com/", "malformed_url"),
        ("http://127.0.0.م/", "malformed_url"),
        ("http://l\u200docalhost/", "malformed_url"),
        ("http://%ff.example/", "malformed_url"),
    ],
)
def test_refuses(text: str, kind: str) -> None:
    with pytest.raises(WebError) as caught:
        parse_url(text)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://example.com:444/b"),
        ("b", "https://example.com:444/a/b"),
        ("?q", "https://example.com:444/a/?q"),
        ("//other.example/", "https://other.example/"),
        ("http://[::1]/", "http://[::1]/"),
    ],
)
def test_locations_are_read_relative_to_where_they_were_found(location: str, target: str) -> None:
    assert str(parse_url(location, base=parse_url("https://example.com:444/a/"))) == target


URL_ALPHABET = st.sampled_from(list("htps:/\\@.%?#[]0123456789abcdefx-_ \t\n\x00\u3002\uff10\u200d\u00df\ud800é"))


@given(st.one_of(st.text(), st.text(URL_ALPHABET).map("http://".__add__)))
@example("http://xn--/")
@example("http://xn--99999999999/")
@example("http://[")
@example("http://a:99999999999999999999/")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        url = parse_url(text)
    except WebError:
        return
    assert parse_url(str(url)) == url, "reading what was read changes nothing"
    assert url.host
    assert str(url).isascii()
    assert not set(str(url)) & set(" \t\r\n\x00")
    assert url.address is None or str(url.address) == url.host
