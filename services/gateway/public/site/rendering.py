"""Renders templates.

Every value is escaped; only `prose` and `jsonld` make markup, each with its own guard.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services.gateway.public.site import naming
from services.gateway.public.site.links import safe_link, shorten

Values = dict[str, object]
"""The values of a template, by name."""
HERE: Final = Path(__file__).parent
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@cache
def _environment(css_path: str, catalogue: bool, desk: bool) -> Environment:
    """The environment of all templates with these settings; shared, since compiling a page takes 50 ms."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(css=css_path, catalogue=catalogue, desk=desk)
    environment.filters.update(
        backing=naming.describe_backing,
        check_status=naming.check_status,
        clock_time=naming.clock_time,
        counted=naming.count,
        day=naming.day,
        duration=naming.duration,
        excerpt=naming.excerpt,
        is_demo=naming.is_demo,
        machine_time=naming.machine_time,
        money=naming.money,
        number=naming.number,
        percent=naming.percent,
        platform_name=naming.platform_name,
        replace_non_xml=replace_non_xml,
        shorten=shorten,
        web=safe_link,
    )
    return environment


def replace_non_xml(text: str | None) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text or "")


class Templates:
    """Renders pages; the style sheet's URL has its hash, so it may be cached without expiry."""

    def __init__(self, *, catalogue: bool = False, desk: bool = False) -> None:
        self.css = (HERE / "static" / "site.css").read_bytes()
        self.icon = (HERE / "static" / "icon.svg").read_bytes()
        self.css_path = f"/static/{sha256(self.css).hexdigest()[:12]}.css"
        self._environment = _environment(self.css_path, catalogue, desk)

    def render(self, template: str, **values: object) -> bytes:
        """Render one page. A missing value is an error."""
        written = self._environment.get_template(template).render(values)
        return written.encode("utf-8", "replace")
