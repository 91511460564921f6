"""Measurements against raw limits taken in the same run; ratios, because machines differ and are noisy."""
