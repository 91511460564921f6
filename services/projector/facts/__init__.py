"""Reads facts from stored bytes, puts them in order, and classifies errors."""
