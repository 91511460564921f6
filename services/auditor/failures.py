"""Why a claim has no analysis, and what its account can do about it. Source: requirements FH-156, E.3."""

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
                code="SEARCH_UNAVAILABLE", detail="The web search did not answer.", hint=_AGAIN, retryable=True
            ),
            ClaimFailure(code="TIMEOUT", detail="The analysis took too long.", hint=_AGAIN, retryable=True),
            ClaimFailure(code="MODEL_REFUSED", detail="The model declined to answer.", hint=None, retryable=False),
            ClaimFailure(
                code="INVALID_ANSWER", detail="The model's answer could not be used.", hint=_AGAIN, retryable=True
            ),
            ClaimFailure(
                code="COST_LIMIT",
                detail="The analysis would have cost more than one request to the model may.",
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
    """The failure of a claim by its code; an unknown code counts as `MODEL_UNAVAILABLE`."""
    return FAILURES.get(code, FAILURES["MODEL_UNAVAILABLE"])
