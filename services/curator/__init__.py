"""Brings about what time brings about: ends overdue jobs, deletes what has expired, sends webhooks, issues labels."""
