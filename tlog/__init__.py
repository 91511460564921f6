"""Transparency logs: Merkle trees, tiles, signed notes and proofs, after RFC 6962 and C2SP. Pure."""
