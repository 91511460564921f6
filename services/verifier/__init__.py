"""Verifies observations against the site itself."""
