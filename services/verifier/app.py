"""The verifier, put together."""

from __future__ import annotations

from contracts.topology import VERIFIER_OBSERVATION_RECEIVED
from contracts.v1.parts import CanonicalPage
from kit.host import Host
from kit.settings import load
from kit.web import Door, Policy
from kit.web.contact import warn_of_no_contact
from platforms import PLATFORMS, has_public_source
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes, Unavailable
from services.verifier.fetching import Fetcher, Patience
from services.verifier.handlers import Verifier
from services.verifier.memory import Memory
from services.verifier.settings import VerifierSettings
from services.verifier.sharing import SharedPages


async def build(host: Host) -> None:
    """Subscribe the handler."""
    settings = load(VerifierSettings)
    warn_of_no_contact("VERIFIER", settings.contact_url)
    endpoints = settings.endpoints
    door = Door(
        Policy(
            contact_url=settings.contact_url,
            timeout_s=settings.timeout_s,
            max_bytes=settings.max_bytes,
            exempt_origins=frozenset(endpoint for endpoint in endpoints.values() if "{" not in endpoint),
        )
    )
    patience = Patience(
        deadline_s=settings.deadline_s,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        retry_base_s=settings.retry_base_s,
        per_host=settings.per_host,
        breaker_failures=settings.breaker_failures,
        breaker_pause_s=settings.breaker_pause_s,
    )
    memory = Memory[CanonicalPage | Unavailable](
        settings.cached_pages, failed=lambda outcome: isinstance(outcome, Unavailable)
    )
    pages = SitePages(
        Fetcher(door, host.clock, patience),
        memory,
        Lifetimes(settings.page_ttl_s, settings.failure_ttl_s, settings.refusal_ttl_s),
        SharedPages(host.bus, host.clock),
        host.blobs,
        host.clock,
        endpoints,
        host.telemetry.registry,
        # One share is nobody's: without it, three slow sites would leave none to turn others away.
        places=max(1, settings.slots // (1 + sum(has_public_source(site.name) for site in PLATFORMS))),
    )

    host.on_close(door.close)
    host.on_close(memory.close)
    host.delivery.subscribe(
        VERIFIER_OBSERVATION_RECEIVED, Verifier(pages).on_observation_received, slots=settings.slots
    )
