"""What can be wrong with something that a transparency log or a witness sent."""

from __future__ import annotations


class TlogError(ValueError):
    """Any of the errors below. Its message names the place and quotes no secret."""


class MalformedError(TlogError):
    """Bytes or text are not of the form that their specification demands."""


class ProofError(TlogError):
    """A Merkle proof does not prove what it is said to prove."""


class SignatureError(TlogError):
    """A note has no signature by a known key, or one that does not verify."""


class QuorumError(TlogError):
    """A checkpoint is signed by its log and lacks cosignatures that the policy demands."""
