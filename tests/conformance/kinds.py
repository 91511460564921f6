"""What each kind of recorded case asks of our code.

A kind is the `name` in a file of cases; one that is not in `KINDS` is reported as not implemented, never as passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from pydantic import ValidationError

from contracts.v1.parts import ImageOccurrence
from kit.addresses import ip_range_prefix
from kit.web import Url, WebError, parse_url
from kit.web.addresses import is_local_name, is_public
from kit.web.resolve import public_addresses
from platforms.identity import (
    InvalidOccurrences,
    canonical_occurrences,
    content_hash,
    occurrences_hash,
    occurrences_json,
    version_hash,
)
from platforms.text import html_to_text, normalize, utf16_length
from platforms.wikipedia_identity import parse_article_url, title_token
from platforms.wikipedia_text import article, article_text, is_excluded_element, is_excluded_section
from tests.support.page_images import extract_images, images_of
from tests.support.text_index import normalize_with_index

Case = Mapping[str, Any]
ERROR: Case = {"error": {}}


def _text(text: str) -> dict[str, Any]:
    return {"text": text, "sha256": content_hash(text), "length_utf16": utf16_length(text)}


def _states(output: Case, ours: Case) -> bool:
    return all(output[name] == value for name, value in ours.items())


def _occurrence(occurrence: ImageOccurrence) -> dict[str, Any]:
    wire = {
        "originalIndex": occurrence.original_index,
        "normalizedTextOffset": occurrence.normalized_text_offset,
        "sourceUrl": occurrence.source_url,
        "captionText": occurrence.caption_text,
    }
    return {name: value for name, value in wire.items() if value is not None}


def normalize_passes(case: Case) -> bool:
    """The canonical text, its hash and length; the index wherever the recorded one belongs to the same text."""
    output, index = case["output"], normalize_with_index(case["input"])
    text = normalize(case["input"])
    stated = output["index"]
    comparable = stated["normalized"] == output["normalized"]
    return (
        (text, content_hash(text), utf16_length(text))
        == (output["normalized"], output["sha256"], output["length_utf16"])
        and index.text == text
        and len(index.to_raw) == utf16_length(text)
        and (not comparable or list(index.to_raw) == stated["to_raw"])
    )


def html_text_passes(case: Case) -> bool:
    """The text of a fragment; where scripts and styles were counted, the case says what remains without them."""
    text = html_to_text(case["input"]["html"])
    without_scripts = case.get("dom_output")
    if without_scripts is None:
        return _states(case["output"], _text(text))
    return text == (without_scripts if isinstance(without_scripts, str) else without_scripts["text"])


def wikipedia_text_passes(case: Case) -> bool:
    """The text of an article's HTML."""
    return _states(case["output"], _text(article_text(case["input"]["html"])))


def wikipedia_pages_passes(case: Case) -> bool:
    """The text of a whole article and its pictures, where they are recorded."""
    html, output = case["input"]["parseApiHtml"], case["output"]
    if not _states(output, _text(article_text(html))):
        return False
    if "imageOccurrences" not in output:
        return True
    images = images_of(article(html), case["input"]["sourceUrl"])
    return bool([_occurrence(occurrence) for occurrence in images.occurrences] == output["imageOccurrences"])


def image_occurrences_passes(case: Case) -> bool:
    """The pictures of a fragment and where they stand."""
    images = extract_images(case["input"]["html"], case["input"]["baseUrl"])
    ours = {
        "contentText": images.text,
        "imageUrls": list(images.urls),
        "imageOccurrences": [_occurrence(occurrence) for occurrence in images.occurrences],
    }
    return bool(ours == case["output"])


def version_identity_passes(case: Case) -> bool:
    """Every recorded step; a step that failed must fail here too, in whatever words."""
    text = case["input"]["contentText"]

    def given() -> list[ImageOccurrence]:
        return [
            ImageOccurrence(
                original_index=occurrence["originalIndex"],
                normalized_text_offset=occurrence["normalizedTextOffset"],
                source_url=occurrence["sourceUrl"],
                caption_text=occurrence.get("captionText"),
            )
            for occurrence in case["input"].get("occurrences") or ()
        ]

    def canonical() -> Any:
        return [_occurrence(occurrence) for occurrence in canonical_occurrences(given(), text)]

    steps: dict[str, Callable[[], Any]] = {
        "request_validation": canonical,
        "canonical": canonical,
        "occurrences_json": lambda: occurrences_json(given()),
        "occurrences_hash": lambda: occurrences_hash(given()),
        "content_hash": lambda: content_hash(text),
        "version_hash": lambda: version_hash(content_hash(text), occurrences_hash(given())),
    }
    output = case["output"]
    return all(_outcome(step) == _stated(output[name]) for name, step in steps.items() if name in output)


def _outcome(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except (InvalidOccurrences, ValidationError):
        return ERROR


def _stated(value: Any) -> Any:
    return ERROR if isinstance(value, dict) and "error" in value else value


def wikipedia_identity_passes(case: Case) -> bool:
    """Addresses, titles, section titles and excluded elements, told apart by `fn`."""
    given = case["input"]
    match given["fn"]:
        case "parseWikipediaIdentity":
            address = parse_article_url(given["url"])
            ours: Any = address and {
                "language": address.language,
                "title": address.title,
                "pageId": address.page_id,
                "identityKind": "TITLE" if address.page_id is None else "PAGE_ID",
                "externalId": f"{address.language}:{address.page_id or address.title}",
            }
        case "normalizeWikipediaTitleToken":
            ours = title_token(given["token"])
        case "isExcludedWikipediaSectionTitle":
            ours = is_excluded_section(given["title"])
        case "shouldExcludeWikipediaElement":
            ours = is_excluded_element(given["tagName"], given["classTokens"])
        case _:
            return False
    return bool(ours == case["output"])


def ip_prefix_passes(case: Case) -> bool:
    """The range an address is credited under."""
    return ip_range_prefix(case["input"]) == str(case["output"])


def host_safety_passes(case: Case) -> bool:
    """Which addresses of a host may be asked; ours may be stricter as the cases' readme says, never laxer.

    A case of another shape is about no host: it passes.
    """
    if "host" not in case["input"]:
        return True
    host, answers = case["input"]["host"], case["input"]["dns"]

    async def resolve(_: str) -> Sequence[str]:
        if answers is None:
            raise OSError
        return list(answers)

    url = _url(f"http://[{host}]/" if ":" in host and not host.startswith("[") else f"http://{host}/")
    try:
        ours = set() if url is None else set(map(str, asyncio.run(public_addresses(url.host, resolve))))
    except WebError:
        ours = set()
    recorded = case["output"]
    if recorded["is_blocked"] is not False:
        # The record asked DNS for what a browser reads as an address.
        return not ours or ours == {recorded["whatwg_hostname"]}
    found = {ip_address(address) for address in (*recorded["public_addresses"], *(answers or ()))}
    if url is not None and url.address is not None:
        found.add(url.address)
    return ours == set(map(str, found)) if all(map(is_public, found)) else not ours


def url_hosts_passes(case: Case) -> bool:
    """Which URLs are read at all, and whose host is shut; stricter than recorded, never laxer."""
    recorded = case["output"]
    url, found = _url(case["input"]["url"]), recorded["url"]
    web = found is not None and found["protocol"] in ("http:", "https:")
    expected = web and not found["username"] and not found["password"] and not case.get("peer_differs")
    if url is None or not expected:
        return url is None and not expected
    shut = is_local_name(url.host) or (url.address is not None and not is_public(url.address))
    open_only = not (recorded["is_private_ip"] or recorded["locally_scoped"])
    return bool(url.host == found["hostname"].strip("[]") and (shut or open_only))


def _url(text: str) -> Url | None:
    try:
        return parse_url(text)
    except WebError:
        return None


KINDS: Mapping[str, Callable[[Case], bool]] = {
    "normalize": normalize_passes,
    "html_text": html_text_passes,
    "wikipedia_text": wikipedia_text_passes,
    "wikipedia_pages": wikipedia_pages_passes,
    "wikipedia_identity": wikipedia_identity_passes,
    "image_occurrences": image_occurrences_passes,
    "version_identity": version_identity_passes,
    "ip_prefix": ip_prefix_passes,
    "host_safety": host_safety_passes,
    "url_hosts": url_hosts_passes,
}
