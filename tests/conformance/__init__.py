"""Runs recorded cases through our code: `python -m tests.conformance FOLDER`."""
