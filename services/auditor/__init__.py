"""Audits articles: extracts claims, analyses each, assesses the whole."""
