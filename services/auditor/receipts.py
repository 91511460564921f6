"""Writes what a job's receipt states. Source: requirements FH-162, D.6."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import rfc8785
from pydantic import JsonValue

from analyses.claims.normalise import NORMATIVE
from contracts.jobs.ids import format_job_id
from contracts.v1 import JobFetched
from services.auditor.domain import CLAIM_AUDIT
from services.auditor.results import Audit, Result, Served


def hash_result(result: Mapping[str, JsonValue]) -> str:
    """The SHA-256 of the RFC 8785 form of a result without its receipt."""
    return sha256(rfc8785.dumps({name: value for name, value in result.items() if name != "receipt"})).hexdigest()


def describe_receipt(issuer: str, audit: Audit, fetched: JobFetched, result: Result) -> Mapping[str, JsonValue]:
    """The payload of a job's receipt. Shapes: `issuer` is an origin. Units: `iat` is in Unix seconds."""
    prompts = (CLAIM_AUDIT.extract.prompt, CLAIM_AUDIT.analyse.prompt, CLAIM_AUDIT.assess.prompt)
    claims = zip(audit.extraction.claims, audit.outcomes, strict=True)
    return {
        "iss": issuer,
        "jti": format_job_id(result.job_id),
        "iat": int(audit.generated_at.timestamp()),
        "content_sha256": fetched.content_sha256,
        "result_sha256": hash_result(result.model_dump(mode="json")),
        "normalisation": NORMATIVE,
        "rules": CLAIM_AUDIT.rules,
        "prompts": [
            {"stage": f"stage{number}", "version": prompt.version, "sha256": prompt.sha256}
            for number, prompt in enumerate(prompts, 1)
        ],
        "models": [{"stage": call.stage, "provider": call.provider, "model": call.model} for call in audit.calls],
        "claims": [
            {
                "claim_hash": claim.claim_hash,
                "analysis_id": str(outcome.event.analysis_id),
                "label": outcome.recommended.verdict.label,
                "confidence": outcome.recommended.verdict.confidence,
            }
            for claim, outcome in claims
            if isinstance(outcome, Served)
        ],
    }
