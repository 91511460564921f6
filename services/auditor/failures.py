"""Why a claim could not be assessed, in words that say what helps. Source: requirements FH-156, E.3."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from contracts.jobs.result import ClaimFailure

_AGAIN: Final = "Ask again later; what was analysed is not charged twice."
FAILURES: Final[Mapping[str, ClaimFailure]] = MappingProxyType(
    {
        each.code: each
        for each in (
            ClaimFailure(code="MODEL_UNAVAILABLE", detail="The model did not answer.", hint=_AGAIN, retryable=True),
            ClaimFailure(
                code="SEARCH_UNAVAILABLE", detail="Nothing could be searched for.", hint=_AGAIN, retryable=True
            ),
            ClaimFailure(code="TIMEOUT", detail="The analysis took too long.", hint=_AGAIN, retryable=True),
            ClaimFailure(code="MODEL_REFUSED", detail="The model declined to answer.", hint=None, retryable=False),
            ClaimFailure(
                code="INVALID_ANSWER", detail="The model's answer could not be used.", hint=_AGAIN, retryable=True
            ),
            ClaimFailure(
                code="COST_LIMIT",
                detail="The analysis would have cost more than one request may.",
                hint="Ask for fewer scenarios or less evidence.",
                retryable=False,
            ),
            ClaimFailure(
                code="NOT_A_CLAIM", detail="Nothing is left to look up after normalisation.", hint=None, retryable=False
            ),
            ClaimFailure(
                code="WITHDRAWN",
                detail="The analysis was withdrawn while the job was under way.",
                hint="Ask again: the claim is analysed anew.",
                retryable=True,
            ),
        )
    }
)


def describe_failure(code: str) -> ClaimFailure:
    """The failure of a claim by its code; one that is not known is the model's."""
    return FAILURES.get(code, FAILURES["MODEL_UNAVAILABLE"])
