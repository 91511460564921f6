"""Ids derive from what they name, so whoever asks for the same thing names it alike."""

from __future__ import annotations

from itertools import product
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.v1.ids import ID_NAMESPACE, investigation_id, post_id, version_id, version_text
from contracts.v1.parts import Origin, PostRef
from tests.support.factories import requested

IDS = st.uuids()
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=1, max_size=20)
LATER: tuple[Origin, ...] = ("APPEAL", "RETRACTION")


@given(IDS, WORDS)
def test_the_original_is_named_by_version_and_analysis_alone(version: UUID, analysis: str) -> None:
    assert investigation_id(version, analysis) == uuid5(ID_NAMESPACE, f"investigation\x1f{version}\x1f{analysis}")
    assert investigation_id(version, analysis, "ORIGINAL", None) == investigation_id(version, analysis)


@given(IDS, WORDS, st.sampled_from(LATER), IDS)
def test_two_requests_of_one_origin_are_one_investigation(
    version: UUID, analysis: str, origin: Origin, origin_id: UUID
) -> None:
    again = UUID(str(version)), analysis, origin, UUID(int=origin_id.int)
    assert investigation_id(version, analysis, origin, origin_id) == investigation_id(*again)


@given(st.sets(IDS, min_size=2, max_size=3), st.sets(WORDS, min_size=2, max_size=3), st.sets(IDS, max_size=3))
def test_whatever_differs_is_another_investigation(versions: set[UUID], analyses: set[str], origins: set[UUID]) -> None:
    ids = [investigation_id(*named) for named in product(versions, analyses)]
    ids += [investigation_id(*named) for named in product(versions, analyses, LATER, origins)]
    assert len(set(ids)) == len(ids) == len(versions) * len(analyses) * (1 + 2 * len(origins))


@pytest.mark.parametrize(("origin", "origin_id"), [("ORIGINAL", UUID(int=7)), ("APPEAL", None), ("RETRACTION", None)])
def test_only_the_original_has_no_origin_id(origin: Origin, origin_id: UUID | None) -> None:
    with pytest.raises(ValueError, match="origin_id"):
        investigation_id(UUID(int=1), "FACT_CHECK", origin, origin_id)
    with pytest.raises(ValidationError, match="origin_id"):
        requested(origin=origin, origin_id=origin_id)


def test_every_request_says_its_origin() -> None:
    said = requested().model_dump()
    del said["origin"]
    with pytest.raises(ValidationError, match="origin"):
        type(requested()).model_validate(said)


@given(WORDS, WORDS, st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_version_in_a_list_has_the_id_of_the_version(platform: str, external_id: str, version_hash: str) -> None:
    post = post_id(PostRef(platform=platform, external_id=external_id))
    assert version_text(platform, external_id, version_hash) == version_id(post, version_hash).hex
