"""A decision with its proof: the leaf is in a log that a policy accepts, and the documents are what it commits to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tlog.encoding import decode_base64, encode_base64
from tlog.errors import MalformedError, ProofError
from tlog.leaf import Leaf, Opening, parse_leaf
from tlog.merkle import hash_leaf
from tlog.policy import Policy
from tlog.proof import Proof


class _Opening(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    j: int = Field(ge=0)
    salt: str
    document: str


class _Extra(BaseModel):
    """The extra data of a proof: the leaf, and those of its documents that were not erased."""

    model_config = ConfigDict(extra="forbid", strict=True)

    leaf: str
    openings: list[_Opening]


@dataclass(frozen=True, slots=True)
class ProvenDecision:
    """The leaf at `index` in a tree of `size`. Shapes: `documents` by their place among the leaf's commitments."""

    origin: str
    index: int
    size: int
    cosignatures: int
    leaf: Leaf
    documents: dict[int, bytes]


def write_extra(leaf: bytes, openings: Sequence[Opening]) -> bytes:
    """The extra data of a proof, for `prove_decision`."""
    extra = _Extra(
        leaf=leaf.decode(),
        openings=[
            _Opening(j=each.j, salt=encode_base64(each.salt), document=each.document.decode()) for each in openings
        ],
    )
    return extra.model_dump_json().encode()


def prove_decision(data: bytes, policy: Policy) -> ProvenDecision:
    """The decision that a `.tlog-proof` proves. Raises: TlogError: the proof is not valid."""
    proof = Proof.parse(data)
    try:
        extra = _Extra.model_validate_json(proof.extra or b"")
    except ValidationError as error:
        raise MalformedError("the proof does not carry a leaf with its documents") from error
    raw = extra.leaf.encode()
    valid = proof.verify(hash_leaf(raw), policy)
    leaf = parse_leaf(raw)
    documents: dict[int, bytes] = {}
    for each in extra.openings:
        opening = Opening(each.j, decode_base64(each.salt), each.document.encode())
        if opening.j >= len(leaf.c) or leaf.c[opening.j] != opening.commitment:
            raise ProofError(f"document {opening.j} is not what the leaf commits to")
        documents[opening.j] = opening.document
    checkpoint = valid.checkpoint
    return ProvenDecision(checkpoint.origin, proof.index, checkpoint.size, valid.cosignatures, leaf, documents)
