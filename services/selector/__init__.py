"""Requests investigations of the most viewed posts, within a daily budget."""
