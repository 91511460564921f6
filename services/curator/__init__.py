"""Does what falls due: ends overdue jobs, deletes expired texts, sends webhooks, issues labels, stops findings."""
