"""Fact-checking: only statements that a public source shows to be wrong beyond dispute become findings.

A false positive costs more than all missed errors, so every rule in prompts and gates favours precision.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from analyses import anchoring, placing, retaining
from analyses.blocks import make_markers, wrap_block
from analyses.evidence import list_sources
from analyses.fact_check_prompts import (
    HANDLING,
    INVESTIGATE,
    INVESTIGATE_VERSION,
    OBJECTION,
    REVIEW,
    REVIEW_CLOSING,
    REVIEW_VERSION,
    UPDATE,
    UPDATE_VERSION,
)
from analyses.flagging import Candidate, Material, Review
from analyses.kinds import InvalidAnswer, InvalidSubmission, Tool, describe, hash_bundle, make_prompt
from analyses.research import AUTHOR_HISTORY, FETCH_URL
from analyses.submission import SUBMIT_CORRECTION, parse_correction
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.parts import ClaimPayload, Objection, Prompt, PublishedClaim

_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})
LOOK_TURNS: Final = Turns(with_tools=150)
TOOLS: Final[tuple[Tool, ...]] = (FETCH_URL, AUTHOR_HISTORY, SUBMIT_CORRECTION)


@dataclass(frozen=True, slots=True)
class ArticleLook:
    """The step that investigates an article, for the first time or as an update. Source: requirements 2.4.2."""

    name: StepName
    prompt: Prompt
    turns: Turns = LOOK_TURNS
    schema: None = None

    def tools(self, material: Material) -> tuple[Tool, ...]:
        """The common tools, and `retain_correction` if there are old claims."""
        return (*TOOLS, retaining.retain_correction(material.old_claims)) if material.old_claims else TOOLS

    def brief(self, material: Material) -> tuple[placing.Part, ...]:
        """Handling note, metadata as JSON, the article between markers, and the findings of an earlier version."""
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
            form, article = "plain text", placing.cut_text(material.text, material.pictures)
        else:
            form = "Markdown"
            article = placing.cut_markdown(material.markdown, material.image_marker, material.pictures)
        old_claims = diff = ""
        if material.earlier is not None:
            old_claims = _json({"oldClaims": [_old(claim) for claim in material.earlier.claims]})
            diff = material.earlier.diff
        objection = _json(_object(material.objection)) if material.objection is not None else ""
        texts = (metadata, *(part for part in article if isinstance(part, str)), old_claims, diff, objection)
        begin, end = make_markers("ARTICLE", *texts)
        head = "\n\n".join((HANDLING, f"Post metadata (JSON):\n{metadata}", f"Article ({form}):\n{begin}\n"))
        tail = [f"\n{end}"]
        if note := placing.describe_pictures(material.pictures):
            tail.append(note)
        if material.earlier is not None:
            tail.append(f"Corrections of the earlier version (JSON):\n{wrap_block('OLD CLAIMS', old_claims, *texts)}")
            tail.append(f"What has changed since the earlier version:\n{wrap_block('DIFF', diff, *texts)}")
        if material.objection is not None:
            tail.append(f"{OBJECTION}\n{wrap_block('OBJECTION', objection, *texts)}")
        return placing.join_parts((head, *article, "\n\n".join(tail)))

    def decide(self, name: str, arguments: str, material: Material) -> ClaimPayload | UUID:
        """Parse a call of `submit_correction` or `retain_correction`. Raises: InvalidSubmission."""
        if name == SUBMIT_CORRECTION.name:
            return parse_correction(arguments)
        if name == retaining.NAME and material.old_claims:
            return retaining.parse_retained(arguments, material.text, material.old_claims)
        raise InvalidSubmission("There is no function of this name.")

    def read(self, answer: str, lookups: Sequence[Research]) -> None:
        """Return None: the result is what `decide` parsed."""


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    approved: bool
    reason: str = ""


class ClaimReview:
    """The step that reviews one claim."""

    name: StepName = "FACT_CHECK/review"
    prompt = make_prompt(REVIEW_VERSION, REVIEW)
    turns = Turns(with_tools=1)
    schema: Mapping[str, JsonValue] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "True only if every condition for showing it is met."},
            "reason": {"type": "string", "description": "One sentence: which condition decided."},
        },
        "required": ["approved", "reason"],
        "additionalProperties": False,
    }

    def tools(self, candidate: Candidate) -> tuple[Tool, ...]:
        """No tools: all evidence is in the message."""
        return ()

    def brief(self, candidate: Candidate) -> tuple[placing.Part, ...]:
        """Handling note, the plain text, its pictures, the claim, its checked sources, and the question."""
        text = candidate.text
        claim = candidate.claim.model_dump_json(indent=2)
        shown = placing.list_pictures(candidate.pictures)
        sources = list_sources(candidate.evidence)
        blocks = [HANDLING, f"Post (plain text):\n{wrap_block('POST', text, claim, shown, sources)}"]
        if shown:
            blocks.append(f"Its pictures, not shown to you:\n{wrap_block('PICTURES', shown, claim, text, sources)}")
        blocks.append(f"Candidate correction (JSON):\n{claim}")
        if sources:
            blocks.append(f"Its sources as we found them:\n{wrap_block('SOURCES', sources, claim, text, shown)}")
        return ("\n\n".join((*blocks, REVIEW_CLOSING)),)

    def read(self, answer: str, lookups: Sequence[Research]) -> Review:
        """Parse an answer in the shape of the schema. Raises: InvalidAnswer."""
        try:
            found = _Answer.model_validate_json(answer)
        except ValidationError:
            raise InvalidAnswer("The review does not have the asked-for shape.") from None
        return Review(found.approved, found.reason.strip() or None)


class FactCheck:
    """The first kind. Source: requirements 2.4.2."""

    name = "FACT_CHECK"
    rules = "fact-check-rules-2"
    look: ClassVar = ArticleLook("FACT_CHECK/look", make_prompt(INVESTIGATE_VERSION, INVESTIGATE))
    update: ClassVar = ArticleLook("FACT_CHECK/update", make_prompt(UPDATE_VERSION, UPDATE))
    review: ClassVar = ClaimReview()
    steps = (look, update, review)
    retain = staticmethod(retaining.retain)
    anchor = staticmethod(anchoring.anchor)
    locate = staticmethod(anchoring.locate)
    check = staticmethod(anchoring.check)

    @property
    def bundles(self) -> Mapping[str, str]:
        """The hash of all fixed texts (instructions, handling note, tools, schema), by prompt version."""
        update_tools = (*TOOLS, retaining.retain_correction(()))
        return {
            self.look.prompt.version: hash_bundle(self.look.prompt.text, HANDLING, *map(describe, TOOLS)),
            self.update.prompt.version: hash_bundle(self.update.prompt.text, HANDLING, *map(describe, update_tools)),
            self.review.prompt.version: hash_bundle(
                self.review.prompt.text, HANDLING, REVIEW_CLOSING, json.dumps(self.review.schema)
            ),
        }


def _old(claim: PublishedClaim) -> Mapping[str, object]:
    return {"id": str(claim.claim_id), **claim.payload.model_dump(mode="json")}


def _object(objection: Objection) -> dict[str, JsonValue]:
    """The objection as data, without invisible characters, which could hide instructions."""
    return {
        "kind": objection.kind,
        "findings": [_remove_unseen(each) for each in objection.findings],
        "text": _remove_unseen(objection.text),
        "links": list(objection.links),
    }


def _remove_unseen(text: str) -> str:
    return "".join(each for each in text if each == "\n" or unicodedata.category(each) not in _UNSEEN)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
