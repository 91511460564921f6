"""`GET /events`: findings as they happen, and from any point in history, as server-sent events."""
