"""Builds the verifier."""

from __future__ import annotations

from contracts.topology import VERIFIER_APPEAL_PROOF_OFFERED, VERIFIER_OBSERVATION_RECEIVED
from kit.host import Host
from kit.settings import load
from kit.web import GuardedHttpClient, Policy
from kit.web.contact import warn_of_no_contact
from platforms import PLATFORMS, has_public_source
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes, share_of_slots
from services.verifier.fetching import Fetcher, FetchPolicy
from services.verifier.handlers import AuthorProofs, Verifier
from services.verifier.settings import VerifierSettings, load_endpoints


async def build(host: Host) -> None:
    """Subscribe the handlers."""
    settings = load(VerifierSettings)
    warn_of_no_contact("VERIFIER", settings.contact_url)
    endpoints = load_endpoints()
    http = GuardedHttpClient(
        Policy(
            contact_url=settings.contact_url,
            timeout_s=settings.timeout_s,
            max_bytes=settings.max_bytes,
            exempt_origins=frozenset(endpoint for endpoint in endpoints.values() if "{" not in endpoint),
        )
    )
    policy = FetchPolicy(
        deadline_s=settings.deadline_s,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        retry_base_s=settings.retry_base_s,
        per_host=settings.per_host,
        breaker_failures=settings.breaker_failures,
        breaker_pause_s=settings.breaker_pause_s,
    )
    pages = SitePages(
        Fetcher(http, host.clock, policy),
        Lifetimes(settings.page_ttl_s, settings.failure_ttl_s, settings.refusal_ttl_s),
        host.blobs,
        host.clock,
        endpoints,
        host.telemetry.registry,
        capacity=share_of_slots(settings.slots, sum(has_public_source(site.name) for site in PLATFORMS)),
        cached=settings.cached_pages,
    )

    host.on_close(http.close)
    host.on_close(pages.close)
    host.delivery.subscribe(
        VERIFIER_OBSERVATION_RECEIVED, Verifier(pages).on_observation_received, slots=settings.slots
    )
    proofs = AuthorProofs(pages, host.blobs, host.clock)
    host.delivery.subscribe(VERIFIER_APPEAL_PROOF_OFFERED, proofs.on_appeal_proof_offered)
