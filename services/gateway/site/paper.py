"""Templates and what they know.

Every value is escaped on its way into a page; only `prose` and `jsonld` make markup, each with its own guard.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services.gateway.site import naming
from services.gateway.site.feeds import sayable
from services.gateway.site.links import shortened, web

HERE: Final = Path(__file__).parent


class Paper:
    """Writes pages from templates; the style sheet's address changes with the sheet, so it may be kept for ever."""

    def __init__(self) -> None:
        self.css = (HERE / "static" / "site.css").read_bytes()
        self.icon = (HERE / "static" / "icon.svg").read_bytes()
        self.css_path = f"/static/{sha256(self.css).hexdigest()[:12]}.css"
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals["css"] = self.css_path
        self._environment.filters.update(
            clock_time=naming.clock_time,
            counted=naming.count,
            day=naming.day,
            duration=naming.duration,
            excerpt=naming.excerpt,
            machine_time=naming.machine_time,
            money=naming.money,
            number=naming.number,
            percent=naming.percent,
            platform_name=naming.platform_name,
            sayable=sayable,
            shortened=shortened,
            web=web,
        )

    def write(self, template: str, **values: Any) -> bytes:
        """One page. Values that are missing are an error, not an empty place."""
        written = self._environment.get_template(template).render(values)
        return written.encode("utf-8", "replace")
