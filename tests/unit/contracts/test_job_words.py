"""Words that are stored for a while: what cannot be read of them is quoted in no error."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from analyses.claims.answers import AnalyseAnswer, AssessAnswer, ExtractAnswer
from contracts.jobs.result import AnalysisBody, CacheOnlyResult, FullResult
from contracts.jobs.words import ArticleWords, ClaimWords, ExtractionWords, FlagWords, RequestWords
from contracts.transcript import Transcript

STORED = (
    AnalyseAnswer,
    AnalysisBody,
    ArticleWords,
    AssessAnswer,
    CacheOnlyResult,
    ClaimWords,
    ExtractAnswer,
    ExtractionWords,
    FlagWords,
    FullResult,
    RequestWords,
    Transcript,
)


@pytest.mark.requirement("FH-29", "FH-167")
@pytest.mark.parametrize("document", STORED)
@pytest.mark.parametrize("text", ["['Otters read at dusk.'", '["Otters read at dusk."]'])
def test_an_error_quotes_no_words(document: type[BaseModel], text: str) -> None:
    """FH-29: Errors have one shape and never hold an article's words.
    FH-167: Facts hold no words.
    """
    with pytest.raises(ValidationError) as raised:
        document.model_validate_json(text)
    assert "Otters" not in str(raised.value)
