"""Fact-checking: say nothing, unless a statement is wrong beyond dispute and a public source shows it.

A false alarm costs more than every missed error together; each rule here, in prompts and gate, leans to silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import UUID

from pydantic import JsonValue

from analyses import anchoring, placing, retaining
from analyses.base import InvalidSubmission, Material, Rejection, Tool, bundled, told
from analyses.blocks import raw_block, raw_marks
from analyses.evidence import Evidence, listed
from analyses.fact_check_prompts import (
    HANDLING,
    INVESTIGATE,
    INVESTIGATE_VERSION,
    REVIEW,
    REVIEW_CLOSING,
    REVIEW_VERSION,
    UPDATE,
    UPDATE_VERSION,
)
from analyses.research import AUTHOR_HISTORY, FETCH_URL
from analyses.submission import SUBMIT_CORRECTION, parse_correction
from contracts.v1.parts import ClaimPayload, Picture, Prompt, PublishedClaim


def _prompt(version: str, text: str) -> Prompt:
    return Prompt(version=version, sha256=sha256(text.encode()).hexdigest(), text=text)


class FactCheck:
    """The first analysis. Source: specification 2.4.2, CONTRACT section 5.8."""

    kind = "FACT_CHECK"
    prompt = _prompt(INVESTIGATE_VERSION, INVESTIGATE)
    update_prompt = _prompt(UPDATE_VERSION, UPDATE)
    review_prompt = _prompt(REVIEW_VERSION, REVIEW)
    rules = "fact-check-rules-1"
    tools: tuple[Tool, ...] = (FETCH_URL, AUTHOR_HISTORY, SUBMIT_CORRECTION)
    review_schema: Mapping[str, JsonValue] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "True only if every condition for showing it is met."},
            "reason": {"type": "string", "description": "One sentence: which condition decided."},
        },
        "required": ["approved", "reason"],
        "additionalProperties": False,
    }

    @property
    def bundles(self) -> Mapping[str, str]:
        """By version, the hash of all fixed words: instructions, handling, what the tools say, how to answer."""
        keep = retaining.retain_correction(())
        return {
            self.prompt.version: bundled(self.prompt.text, HANDLING, *map(told, self.tools)),
            self.update_prompt.version: bundled(self.update_prompt.text, HANDLING, *map(told, (*self.tools, keep))),
            self.review_prompt.version: bundled(
                self.review_prompt.text, HANDLING, REVIEW_CLOSING, json.dumps(self.review_schema)
            ),
        }

    def update_tools(self, old_claims: Sequence[PublishedClaim]) -> tuple[Tool, ...]:
        """The same, and a way to keep one of the old claims if there are any."""
        return (*self.tools, retaining.retain_correction(old_claims)) if old_claims else self.tools

    def brief(self, material: Material) -> tuple[placing.Part, ...]:
        """Handling note, metadata as JSON, the article between markers, and what was found in an earlier version."""
        metadata = _json(
            {
                "platform": material.platform,
                "url": material.url,
                **({"authorName": material.author_name} if material.author_name else {}),
                **({"postPublishedAt": material.published_at.isoformat()} if material.published_at else {}),
                "hasVideo": material.has_video,
                "isUpdate": material.earlier is not None,
            }
        )
        if material.markdown is None:
            form, article = "plain text", placing.in_text(material.text, material.pictures)
        else:
            form = "Markdown"
            article = placing.in_markdown(material.markdown, material.image_marker, material.pictures)
        old_claims = diff = ""
        if material.earlier is not None:
            old_claims = _json({"oldClaims": [_old(claim) for claim in material.earlier.claims]})
            diff = material.earlier.diff
        said = (metadata, *(part for part in article if isinstance(part, str)), old_claims, diff)
        begin, end = raw_marks("ARTICLE", *said)
        head = "\n\n".join((HANDLING, f"Post metadata (JSON):\n{metadata}", f"Article ({form}):\n{begin}\n"))
        tail = [f"\n{end}"]
        if note := placing.note(material.pictures):
            tail.append(note)
        if material.earlier is not None:
            tail.append(f"Corrections of the earlier version (JSON):\n{raw_block('OLD CLAIMS', old_claims, *said)}")
            tail.append(f"What has changed since the earlier version:\n{raw_block('DIFF', diff, *said)}")
        return placing.joined((head, *article, "\n\n".join(tail)))

    def parse_submission(self, arguments: str) -> ClaimPayload:
        """Read the arguments of `submit_correction`. Raises: InvalidSubmission."""
        return parse_correction(arguments)

    def decide(
        self, name: str, arguments: str, text: str, old_claims: Sequence[PublishedClaim] = ()
    ) -> ClaimPayload | UUID:
        """Read a call to `submit_correction` or `retain_correction`. Raises: InvalidSubmission."""
        if name == SUBMIT_CORRECTION.name:
            return parse_correction(arguments)
        if name == retaining.NAME and old_claims:
            return retaining.parse_retained(arguments, text, old_claims)
        raise InvalidSubmission("There is no function of this name.")

    def kept(self, claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
        """The finding at its place in this text; it passes the mechanical gate again."""
        return retaining.kept(claim, text)

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Bring quote and context to the text's own plain words where possible."""
        return anchoring.anchor(claim, text)

    def place(self, claim: ClaimPayload, text: str) -> str:
        """What tells the claim's words from the same words elsewhere in the text."""
        return anchoring.place(claim, text)

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate; needs no model."""
        return anchoring.check(claim, text)

    def review_brief(
        self, claim: ClaimPayload, text: str, pictures: Sequence[Picture] = (), evidence: Sequence[Evidence] = ()
    ) -> str:
        """Handling note, the plain text, its pictures, the claim and what its sources say, and the question."""
        candidate = claim.model_dump_json(indent=2)
        shown = placing.listed(pictures)
        sources = listed(evidence)
        blocks = [HANDLING, f"Post (plain text):\n{raw_block('POST', text, candidate, shown, sources)}"]
        if shown:
            blocks.append(f"Its pictures, not shown to you:\n{raw_block('PICTURES', shown, candidate, text, sources)}")
        blocks.append(f"Candidate correction (JSON):\n{candidate}")
        if sources:
            blocks.append(f"Its sources as we found them:\n{raw_block('SOURCES', sources, candidate, text, shown)}")
        return "\n\n".join((*blocks, REVIEW_CLOSING))


def _old(claim: PublishedClaim) -> Mapping[str, object]:
    return {"id": str(claim.claim_id), **claim.payload.model_dump(mode="json")}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
