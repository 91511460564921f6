CREATE INDEX appeal_newest_idx ON appeal (coalesce(decided_at, opened_at) DESC, id DESC);
