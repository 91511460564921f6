"""Picks, within a budget, the posts that most people are likely to read next."""
