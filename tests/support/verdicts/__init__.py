"""The rules of verdicts a second time, and what both languages are compared by."""
