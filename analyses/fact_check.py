"""Fact-checking: say nothing, unless a statement is wrong beyond dispute and a public source shows it.

A false alarm costs more than every missed error together; each rule here, in prompts and gate, leans to silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from pydantic import JsonValue

from analyses import anchoring
from analyses.base import Material, Rejection, Tool
from analyses.blocks import raw_block
from analyses.fact_check_prompts import (
    HANDLING,
    INVESTIGATE,
    INVESTIGATE_VERSION,
    REVIEW,
    REVIEW_CLOSING,
    REVIEW_VERSION,
)
from analyses.submission import SUBMIT_CORRECTION, parse_correction
from contracts.v1.parts import ClaimPayload, Prompt


def _prompt(version: str, text: str) -> Prompt:
    return Prompt(version=version, sha256=sha256(text.encode()).hexdigest(), text=text)


class FactCheck:
    """The first analysis. Source: specification 2.4.2, CONTRACT section 5.8."""

    kind = "FACT_CHECK"
    prompt = _prompt(INVESTIGATE_VERSION, INVESTIGATE)
    review_prompt = _prompt(REVIEW_VERSION, REVIEW)
    tools: tuple[Tool, ...] = (SUBMIT_CORRECTION,)
    review_schema: Mapping[str, JsonValue] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "True only if every condition for showing it is met."},
            "reason": {"type": "string", "description": "One sentence: which condition decided."},
        },
        "required": ["approved", "reason"],
        "additionalProperties": False,
    }

    def brief(self, material: Material) -> str:
        """Handling note, metadata as JSON, the article between markers; Markdown where there is some."""
        metadata = _json(
            {
                "platform": material.platform,
                "url": material.url,
                **({"authorName": material.author_name} if material.author_name else {}),
                **({"postPublishedAt": material.published_at.isoformat()} if material.published_at else {}),
                "hasVideo": material.has_video,
                "isUpdate": False,
            }
        )
        form, content = ("plain text", material.text) if material.markdown is None else ("Markdown", material.markdown)
        return "\n\n".join(
            (
                HANDLING,
                f"Post metadata (JSON):\n{metadata}",
                f"Article ({form}):\n{raw_block('ARTICLE', content, metadata)}",
            )
        )

    def parse_submission(self, arguments: str) -> ClaimPayload:
        """Read the arguments of `submit_correction`. Raises: InvalidSubmission."""
        return parse_correction(arguments)

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Bring quote and context to the text's own plain words where possible."""
        return anchoring.anchor(claim, text)

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate; needs no model."""
        return anchoring.check(claim, text)

    def review_brief(self, claim: ClaimPayload, text: str) -> str:
        """Handling note, the whole plain text between markers, the claim as JSON, the closing question."""
        candidate = _json(claim.model_dump(mode="json"))
        return "\n\n".join(
            (
                HANDLING,
                f"Post (plain text):\n{raw_block('POST', text, candidate)}",
                f"Candidate correction (JSON):\n{candidate}",
                REVIEW_CLOSING,
            )
        )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
