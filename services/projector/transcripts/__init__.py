"""Reads transcripts into rows."""
