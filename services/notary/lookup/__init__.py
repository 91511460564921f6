"""Builds the buckets of private look-ups: what stands of the findings, with its proofs, for many posts at once."""
