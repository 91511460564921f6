"""The extension's rules for a verdict, written a second time: whatever both agree about is no slip of one language.

Its original is extension/src/verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from ada_url import URL

from analyses.surrogates import well_formed
from contracts.composed import nfc
from tests.support.verdicts.figures import find_figures, is_day
from tests.support.verdicts.given import LIMITS, SCHEMA
from tests.support.verdicts.salvage import SPACES, drop_thoughts, find_objects, trim

Json = dict[str, Any]
"""An answer, a result of a search: JSON whose shape the rules decide."""

_VERDICTS: Final = {verdict.lower(): verdict for verdict in SCHEMA["properties"]["verdict"]["enum"]}


def salvage(said: str) -> Json | None:
    """The last verdict in a text."""
    return next((found for found in map(_read, find_objects(said)) if found), None)


def salvage_reply(content: str, reasoning: str) -> Json | None:
    """The verdict in a reply."""
    return salvage(content if trim(drop_thoughts(content)) else reasoning)


def _read(value: Mapping[str, Any]) -> Json | None:
    word, confidence = value.get("verdict"), value.get("confidence")
    verdict = _VERDICTS.get(re.sub(rf"[{SPACES}_-]+", "", word).lower()) if isinstance(word, str) else None
    summary, caveats = value.get("summary"), value.get("caveats")
    claims = _items(value.get("claims"), "claim", "assessment")
    sources = _items(value["sources"], "title", "url") if "sources" in value else []
    if not (verdict and isinstance(summary, str) and isinstance(caveats, str)) or claims is None or sources is None:
        return None
    if not (isinstance(confidence, float) and 0 <= confidence <= 100 and confidence == int(confidence)):
        return None
    return {
        "verdict": verdict,
        "confidence": int(confidence),
        "summary": well_formed(summary),
        "claims": claims,
        "caveats": well_formed(caveats),
        "sources": sources if "sources" in value else None,
    }


def _items(values: object, *names: str) -> list[Json] | None:
    if not isinstance(values, list):
        return None
    if not all(isinstance(each, dict) and all(isinstance(each.get(name), str) for name in names) for each in values):
        return None
    return [{name: well_formed(each[name]) for name in names} for each in values]


def check_sources(answer: Json, returned: Sequence[Json]) -> Json:
    """The pages that a verdict rests on."""
    given = answer["sources"]
    found = keep_returned(given or [], returned)
    left_out = given is None or (not given and answer["verdict"] != "Opinion")
    added = backfill(returned) if left_out else []
    return {"sources": [*found["kept"], *added], "dropped": found["dropped"], "backfilled": bool(added)}


def keep_returned(given: Sequence[Json], returned: Sequence[Json]) -> Json:
    """The results that the given addresses name, and how many name none."""
    known = _by_address(returned)
    named = [_simplify(each["url"]) for each in given]
    kept = [known[url] for url in dict.fromkeys(named) if url in known]
    return {"kept": kept, "dropped": sum(url not in known for url in named)}


def backfill(returned: Sequence[Json]) -> list[Json]:
    """The first results, distinct by address."""
    return list(_by_address(returned).values())[: LIMITS["backfilled"]]


def _by_address(returned: Sequence[Json]) -> dict[str, Json]:
    known: dict[str, Json] = {}
    for hit in returned:
        known.setdefault(_simplify(hit["url"]), hit)
    return known


def _simplify(url: str) -> str:
    return url.partition("#")[0].removesuffix("/")


def fold(text: str) -> str:
    """What two copies of one text share."""
    words = re.sub(rf"[{SPACES}]+", " ", nfc(well_formed(text))).strip(" ")
    return re.sub("[A-Z]+", lambda found: found[0].lower(), words)


def count_families(hits: Sequence[Json]) -> int:
    """Groups of results that share a domain, a title or a snippet."""
    groups: list[set[str]] = []
    for hit in hits:
        host = _host(hit["url"])
        traits = {f"domain {registrable_domain(host)}"} if host else set()
        traits |= {f"{kind} {fold(hit[kind])}" for kind in ("title", "snippet") if fold(hit[kind])}
        joined = [group for group in groups if group & traits]
        groups = [group for group in groups if not group & traits] + [traits.union(*joined)]
    return len(groups)


def is_weak(hit: Json) -> bool:
    """Whether anybody may publish on the page's host."""
    host = _host(hit["url"]) or ""
    return any(f".{host}".endswith(f".{weak}") for weak in LIMITS["weakHosts"])


def registrable_domain(host: str) -> str:
    """The part of a host name that one owner holds."""
    labels = host.split(".")
    for provider in LIMITS["hosting"]:
        if host.endswith(f".{provider}"):
            return ".".join(labels[-len(provider.split(".")) - 1 :])
    if host.startswith("[") or re.fullmatch("[0-9]+", labels[-1]):
        return host
    is_shared = len(labels) > 1 and len(labels[-1]) == 2 and labels[-2] in LIMITS["secondLevel"]
    return ".".join(labels[-3 if is_shared else -2 :])


def _host(url: str) -> str | None:
    try:
        return URL(url).hostname.removesuffix(".") or None
    except ValueError:
        return None


def apply_caps(verdict: str, confidence: int, evidence: Json) -> Json:
    """The confidence that stands, and what limits it."""
    post, sources = evidence["post"], evidence["sources"]
    oldest = (date.fromisoformat(evidence["today"]) - timedelta(days=LIMITS["oldDays"])).isoformat()
    figures = find_figures(post)
    about_the_past = bool(figures.last_days) and all(day < oldest for day in figures.last_days)
    days = [hit.get("date", "") for hit in sources]
    shown = {reading for hit in evidence["returned"] for reading in _readings(hit)}
    holds = {
        "no_search": evidence["searches"] == 0,
        "old_sources": bool(days) and not about_the_past and all(is_day(day) and day < oldest for day in days),
        "weak_source": count_families(sources) == 1 and all(map(is_weak, sources)),
        "number_not_found": bool(figures.exact) and not any(readings & shown for readings in figures.exact),
    }
    caps = [cap for cap, most in LIMITS["caps"].items() if verdict != "Opinion" and holds[cap] and most < confidence]
    return {"confidence": min([confidence, *(LIMITS["caps"][cap] for cap in caps)]), "caps": caps}


def _readings(hit: Json) -> frozenset[str]:
    return find_figures(f"{hit['title']}\n{hit['snippet']}").every


def warn_of_band(verdict: str, confidence: int, families: int) -> str | None:
    """Whether the model's number fits its verdict and sources."""
    if verdict == "Opinion":
        return None
    if confidence >= 90:
        return None if families >= 2 else "few_families"
    if 40 <= confidence < 60:
        return None if verdict in ("Mixed", "Misleading") else "band_verdict"
    return "band_verdict" if confidence < 20 and verdict not in ("Unverifiable", "False") else None


def context_block(moment: str, zone: str) -> str:
    """Day, time and zone, in three lines."""
    at = datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))
    offset = at.strftime("%z")
    return (
        f"Current date: {at:%Y-%m-%d} ({at:%A})\nCurrent time: {at:%H:%M}\n"
        f"Time zone: {zone} (UTC{offset[:3]}:{offset[3:]})"
    )


def system_message(prompt: str, moment: str, zone: str) -> str:
    """A prompt, a blank line and the context."""
    return prompt.rstrip("\n") + "\n\n" + context_block(moment, zone)
