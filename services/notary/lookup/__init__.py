"""Builds the buckets of private look-ups: the standing findings of many posts at once, with their proofs."""
