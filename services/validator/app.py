"""Builds the validator."""

from __future__ import annotations

from functools import partial

from contracts.topology import VALIDATOR_CLAIM_PROPOSED
from kit.documents.reading import Reader
from kit.host import Host
from kit.settings import DisplaySettings, load
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from kit.web.contact import warn_of_no_contact
from services.validator.adapters import LogRuns
from services.validator.ends import EndedRounds
from services.validator.handlers import Validator
from services.validator.ports import Sources
from services.validator.settings import GateSettings, ValidatorSettings
from services.validator.sources import PageSources, UncheckedSources, read_words


async def build(host: Host) -> None:
    """Subscribe the handler."""
    settings = load(ValidatorSettings)
    warn_of_no_contact("VALIDATOR", settings.contact_url)
    demo = host.model.labelled_demo
    gates = load(GateSettings)
    ends = EndedRounds(host.bus)
    host.keep_running("validator-ends", ends.run)
    validator = Validator(
        LogRuns(host.bus, ends),
        host.blobs,
        host.user_keys,
        host.model,
        UncheckedSources() if demo else _page_sources(host, settings),
        host.clock,
        unchecked_allowed=demo or settings.unchecked_sources == "allow",
        policy=None if demo else gates.policy(settings.own_hosts),
        hold=load(DisplaySettings).hold,
    )
    host.delivery.subscribe(
        VALIDATOR_CLAIM_PROPOSED, validator.on_claim_proposed, slots=settings.slots, on_exhausted=validator.on_exhausted
    )


def _page_sources(host: Host, settings: ValidatorSettings) -> Sources:
    http = GuardedHttpClient(
        Policy(
            contact_url=settings.contact_url,
            timeout_s=settings.page_s,
            max_bytes=settings.page_bytes,
            exempt_origins=frozenset({settings.page_origin} if settings.page_origin else ()),
        )
    )
    pages = Pages(http, partial(read_words, Reader(), own_hosts=settings.own_hosts), host.clock, archive=host.blobs)
    host.on_close(http.close)
    host.on_close(pages.close)
    return PageSources(pages, host.telemetry.registry)
