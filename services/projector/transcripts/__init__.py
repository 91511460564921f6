"""Transcripts, read into rows."""
