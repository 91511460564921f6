"""Turns what a reader saw and what the site says into one version of a post."""
