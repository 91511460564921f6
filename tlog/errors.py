"""Errors in what a transparency log or a witness sent."""

from __future__ import annotations


class TlogError(ValueError):
    """Base of the errors below. The message names the place and quotes no secret."""


class MalformedError(TlogError):
    """Bytes or text are not of the form that their specification demands."""


class ProofError(TlogError):
    """A Merkle proof does not prove what it claims to."""


class SignatureError(TlogError):
    """A note has no signature by a known key, or one that does not verify."""


class QuorumError(TlogError):
    """A checkpoint is signed by its log, but lacks cosignatures that the policy demands."""
