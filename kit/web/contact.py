"""The operator's contact address, part of the User-Agent of every request."""

from __future__ import annotations

from typing import Annotated, Any, Final

import structlog
from pydantic import AfterValidator, AliasChoices, Field

from kit.web.guarded_client import CONTACT_URL

PUBLIC_URL: Final = "OPENERRATA_GATEWAY_PUBLIC_URL"

log = structlog.get_logger(__name__)

ContactUrl = Annotated[str, AfterValidator(lambda url: url or CONTACT_URL)]


def contact_url_field(service: str, description: str) -> Any:  # as pydantic's Field: the type of its default
    """A service's contact setting; the default is the instance's public address, else the project's page."""
    own = f"OPENERRATA_{service}_CONTACT_URL"
    return Field(default=CONTACT_URL, validation_alias=AliasChoices(own, PUBLIC_URL), description=description)


def warn_of_no_contact(service: str, url: str) -> None:
    """Warn the operator at start that sites cannot contact them."""
    if url == CONTACT_URL:
        log.warning(
            "sites that are asked find no address of yours in the User-Agent",
            set=f"OPENERRATA_{service}_CONTACT_URL or {PUBLIC_URL}",
        )
