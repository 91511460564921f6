"""The validator, put together."""

from __future__ import annotations

from contracts.topology import VALIDATOR_CLAIM_PROPOSED
from kit.host import Host
from kit.settings import load
from kit.web import Door, Policy
from kit.web.contact import warn_of_no_contact
from kit.web.reading import Reader
from services.validator.adapters import LogRuns
from services.validator.ends import Ends
from services.validator.handlers import Validator
from services.validator.pages import Pages
from services.validator.ports import Sources
from services.validator.settings import ValidatorSettings
from services.validator.sources import PageSources, UnaskedSources


async def build(host: Host) -> None:
    """Subscribe the handler."""
    settings = load(ValidatorSettings)
    warn_of_no_contact("VALIDATOR", settings.contact_url)
    demo = host.model.labelled_demo
    ends = Ends(host.bus)
    host.keep_running("validator-ends", ends.run)
    validator = Validator(
        LogRuns(host.bus, ends),
        host.blobs,
        host.user_keys,
        host.model,
        UnaskedSources() if demo else _looked_up(host, settings),
        host.clock,
        unchecked_allowed=demo or settings.unchecked_sources == "allow",
    )
    host.delivery.subscribe(
        VALIDATOR_CLAIM_PROPOSED, validator.on_claim_proposed, slots=settings.slots, given_up=validator.on_given_up
    )


def _looked_up(host: Host, settings: ValidatorSettings) -> Sources:
    door = Door(
        Policy(
            contact_url=settings.contact_url,
            timeout_s=settings.page_s,
            max_bytes=settings.page_bytes,
            exempt_origins=frozenset({settings.page_origin} if settings.page_origin else ()),
        )
    )
    pages = Pages(door, host.blobs, Reader(), host.clock)
    host.on_close(door.close)
    host.on_close(pages.close)
    return PageSources(pages, host.telemetry.registry)
