"""The report of an audit as Markdown, a pure function of the result's JSON: equal results give equal bytes.

Every value in a result may come from a stranger's page, so all are escaped unless the template says otherwise.
Source: requirements FH-18, D.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import Final

from ada_url import URL
from jinja2 import ChainableUndefined, Environment
from markupsafe import Markup
from pydantic import JsonValue

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>&#|~$@]|:(?=//)|(?<=www)\.|^(?:[-+=]|\d+(?=[.)](?: |$)))", re.IGNORECASE)
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def write_report(result: Mapping[str, JsonValue]) -> str:
    """The report of a result. Shapes: `result` is as in D.5, full or cache-only; the report ends with a line break."""
    claims = result.get("claims")
    rows = [each for each in claims if isinstance(each, Mapping)] if isinstance(claims, Sequence) else []
    text = _TEMPLATE.render(
        extraction=result.get("claim_extraction"),
        assessment=result.get("article_holistic_assessment"),
        analysed=[each for each in rows if "scenarios" in each],
        missing=[each for each in rows if "scenarios" not in each],
        message=result.get("message"),
        coverage=result.get("cache_coverage"),
        calls=result.get("llm_calls") or [],
        cost=result.get("cost"),
        receipt=result.get("receipt"),
    )
    return _BLANK_LINES.sub("\n\n", text).strip("\n") + "\n"


def escape(value: object) -> Markup:
    """A value as plain text on one line of Markdown, without markup, links or invisible characters."""
    if isinstance(value, Markup):
        return value
    text = "" if value is None else " ".join(_UNSEEN.sub(" ", str(value)).split())
    return Markup(_SPECIAL.sub(_escape_match, text))  # noqa: S704 - it is Markdown, escaped just here


def _escape_match(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"


def _link(address: object, title: object = None) -> Markup:
    """A link to a web page; any other address is shown as text."""
    try:
        url = URL(str(address))
    except ValueError:
        return escape(address)
    if url.protocol not in ("http:", "https:"):
        return escape(address)
    return Markup(f"[{escape(title) or escape(url.hostname)}](<{url.href.replace(chr(92), '%5C')}>)")  # noqa: S704 - both parts are escaped


def _code(value: object) -> Markup:
    """A token as inline code; anything else is shown as text."""
    text = str(value)
    return Markup(f"`{text}`") if _TOKEN.fullmatch(text) else escape(value)  # noqa: S704 - holds no mark-up


def _number(value: object) -> str:
    """A number without an exponent, or a dash for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "–"
    return f"{Decimal(str(value)):f}"


def _compile() -> Environment:
    environment = Environment(  # noqa: S701 - autoescape is for HTML; `finalize` escapes Markdown
        undefined=ChainableUndefined, finalize=escape, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"code": _code, "link": _link, "number": _number}
    return environment


_TEMPLATE: Final = _compile().from_string((files(__package__) / "report.md.jinja").read_text("utf-8"))
