"""Ids derived from content, so that every producer of the same thing gives it the same id."""

from __future__ import annotations

from datetime import date
from functools import cache, lru_cache
from hashlib import sha256
from uuid import UUID

import uuid_utils

from contracts.steps import StepName
from contracts.v1.parts import Origin, PostRef

ID_NAMESPACE = UUID("0b7f0a34-6a1e-5c39-8d51-2f4f4d2b7c11")


def derive_uuid(namespace: UUID, name: str) -> UUID:
    """The version-5 UUID of a name, five times as fast as the standard library's, as every event needs one.

    Source: RFC 9562 section 5.5.
    """
    return UUID(bytes=uuid_utils.uuid5(_native(namespace), name).bytes)


@cache
def _native(namespace: UUID) -> uuid_utils.UUID:
    return uuid_utils.UUID(int=namespace.int)


def _derive_id(*parts: str) -> UUID:
    return derive_uuid(ID_NAMESPACE, "\x1f".join(parts))


def post_id(post: PostRef) -> UUID:
    """The id of a post, from its platform and the platform's own id."""
    return _derive_id("post", post.platform, post.external_id)


def version_id(post: UUID, version_hash: str) -> UUID:
    """The id of a version, from its post and the hash over text and pictures."""
    return _derive_id("version", str(post), version_hash)


def version_text(platform: str, external_id: str, version_hash: str) -> str:
    """The id of a version in hex digits.

    For lists of a hundred versions, it is twice as fast as `version_id`, which needs two UUID objects.
    """
    namespace = _native(ID_NAMESPACE)
    post = uuid_utils.uuid5(namespace, f"post\x1f{platform}\x1f{external_id}")
    return uuid_utils.uuid5(namespace, f"version\x1f{post}\x1f{version_hash}").hex


def investigation_id(version: UUID, analysis: str, origin: Origin = "ORIGINAL", origin_id: UUID | None = None) -> UUID:
    """The id of an investigation: one per version, analysis and origin, so two requests merge.

    Raises: ValueError if an ORIGINAL has an `origin_id`, or anything else has none.
    """
    if (origin == "ORIGINAL") != (origin_id is None):
        raise ValueError("an ORIGINAL has no origin_id, everything else has one")
    of_origin = () if origin_id is None else (origin, str(origin_id))
    return _derive_id("investigation", str(version), analysis, *of_origin)


def claim_id(investigation: UUID, text: str, place: str) -> UUID:
    """The id of a claim, from its investigation, its quote and the quote's place in the text.

    The same sentence has the same id whatever context the model submits with it.
    """
    return _derive_id("claim", str(investigation), text, place)


@lru_cache(4096)
def author_id(platform: str, platform_user_id: str) -> UUID:
    """The id of an author: one identity on one platform."""
    return _derive_id("author", platform, platform_user_id)


def control_batch_id(commitment: str) -> UUID:
    """The id of a list of controls, from its commitment."""
    return _derive_id("control batch", commitment)


def assertion_id(norm_version: str, language: str, canonical_sha256: str, guard_sha256: str) -> UUID:
    """The id of an assertion; a claim with another guard or time anchor is another assertion."""
    return _derive_id("assertion", norm_version, language, canonical_sha256, guard_sha256)


def analysis_run_id(assertion: UUID, follows: int) -> UUID:
    """The id of the run that analyses an assertion, from the sequence that its request follows."""
    return _derive_id("run", str(assertion), str(follows))


def step_run_id(job: UUID, step: StepName) -> UUID:
    """The id of the run of a job's own step."""
    return _derive_id("run", str(job), step)


@lru_cache(4096)
def publisher_id(domain: str) -> UUID:
    """The id of a publisher of sources, from its registrable domain."""
    return _derive_id("publisher", domain)


def entry_id(assertion: UUID) -> UUID:
    """The id of an entry, from the assertion that it was published for."""
    return _derive_id("entry", str(assertion))


def reanalysis_edit_id(entry: UUID, analysis: UUID) -> UUID:
    """The id of the edit that records a newer analysis of an entry."""
    return _derive_id("reanalysis", str(entry), str(analysis))


def scenario_id(analysis: UUID, ordinal: int) -> UUID:
    return _derive_id("scenario", str(analysis), str(ordinal))


def evidence_id(scenario: UUID, place: int) -> UUID:
    """The id of a piece of evidence, from its scenario and its place there."""
    return _derive_id("evidence", str(scenario), str(place))


def metric_id(type_: str, category: str, hour: str) -> UUID:
    """The id of a metric's sample of an hour."""
    return _derive_id("metric", type_, category, hour)


def pattern_id(category: str, cause: str) -> UUID:
    """The id of a cause of errors."""
    return _derive_id("pattern", category, cause)


@lru_cache(maxsize=4096)
def period_id(account: UUID, month: str) -> UUID:
    """The id of an account's credit of one month, e.g. `2026-12`."""
    return _derive_id("period", str(account), month)


def idempotency_id(account: UUID, key: str) -> UUID:
    """The id of an idempotency key of an account; the key itself cannot be read from it."""
    return _derive_id("idempotency", str(account), sha256(key.encode()).hexdigest())


def label_id(uri: str, cid: str, val: str) -> UUID:
    """The id of a label: one value on one pinned record."""
    return _derive_id("label", uri, cid, val)


def review_sample_id(seed: str, first_day: date, last_day: date, size: int) -> UUID:
    """The id of a sample of findings: the same seed, days and size are the same sample."""
    return _derive_id("review_sample", seed, str(first_day), str(last_day), str(size))


def log_id(origin: str) -> UUID:
    """The id of a decision log, from its name."""
    return _derive_id("log", origin)


def memo_id(account: UUID, content_sha256: str, beside_sha256: str, prompt_version: str) -> UUID:
    """The id of an extraction, from account, article and prompt, and the hash of everything else that decides it."""
    return _derive_id("memo", str(account), content_sha256, beside_sha256, prompt_version)


def sent_memo_id(account: UUID, sent: str, prompt_version: str) -> UUID:
    """The id of an extraction by the text or address that the account sent."""
    return _derive_id("sent", str(account), sha256(sent.encode()).hexdigest(), prompt_version)
