"""Fact-checking: say nothing, unless a statement is wrong beyond dispute and a public source shows it.

A false alarm costs more than every missed error together; each rule here, in prompts and gate, leans to silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from pydantic import JsonValue

from analyses import anchoring, placing
from analyses.base import Material, Rejection, Tool
from analyses.blocks import raw_block, raw_marks
from analyses.fact_check_prompts import (
    HANDLING,
    INVESTIGATE,
    INVESTIGATE_VERSION,
    REVIEW,
    REVIEW_CLOSING,
    REVIEW_VERSION,
)
from analyses.submission import SUBMIT_CORRECTION, parse_correction
from contracts.v1.parts import ClaimPayload, Picture, Prompt


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

    def brief(self, material: Material) -> tuple[placing.Part, ...]:
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
        if material.markdown is None:
            form, article = "plain text", placing.in_text(material.text, material.pictures)
        else:
            form = "Markdown"
            article = placing.in_markdown(material.markdown, material.image_marker, material.pictures)
        begin, end = raw_marks("ARTICLE", metadata, *(part for part in article if isinstance(part, str)))
        head = "\n\n".join((HANDLING, f"Post metadata (JSON):\n{metadata}", f"Article ({form}):\n{begin}\n"))
        note = placing.note(material.pictures)
        return placing.joined((head, *article, f"\n{end}", f"\n\n{note}" if note else ""))

    def parse_submission(self, arguments: str) -> ClaimPayload:
        """Read the arguments of `submit_correction`. Raises: InvalidSubmission."""
        return parse_correction(arguments)

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Bring quote and context to the text's own plain words where possible."""
        return anchoring.anchor(claim, text)

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate; needs no model."""
        return anchoring.check(claim, text)

    def review_brief(self, claim: ClaimPayload, text: str, pictures: Sequence[Picture] = ()) -> str:
        """Handling note, the whole plain text and a list of its pictures between markers, the claim, the question."""
        candidate = _json(claim.model_dump(mode="json"))
        rows = placing.listed(pictures)
        blocks = [HANDLING, f"Post (plain text):\n{raw_block('POST', text, candidate, rows)}"]
        if rows:
            blocks.append(f"Its pictures, not shown to you:\n{raw_block('PICTURES', rows, candidate, text)}")
        return "\n\n".join((*blocks, f"Candidate correction (JSON):\n{candidate}", REVIEW_CLOSING))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
