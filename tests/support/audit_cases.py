"""Golden values of article audits: tests/cases/claims, as exact as the requirements give them."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter

CASES: Final = Path(__file__).parents[1] / "cases" / "claims"
CaseT = TypeVar("CaseT")


class Case(BaseModel):
    """A golden value; a key that the test does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_cases(name: str, kind: type[CaseT]) -> CaseT:
    """The content of a golden file."""
    return TypeAdapter(kind).validate_json((CASES / f"{name}.json").read_bytes())


HOSTILE: Final = st.text(
    st.characters()
    | st.characters(categories=["Cs", "Mn", "Mc", "Me", "Nd", "No", "Sc", "Sm", "Cf", "Zs"])
    | st.sampled_from("'’‘%-–−+/.,:05 \u0345İıſẞΣσς\ufb03\u202e"),
    max_size=60,
)
"""Text of every category, lone surrogates included."""
