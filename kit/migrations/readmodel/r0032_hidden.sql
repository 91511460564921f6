ALTER TABLE author ADD COLUMN hidden_at timestamptz;

-- Posts of a hidden author get no labels.
GRANT SELECT (id, author_id) ON post TO errata_curator;
GRANT SELECT (id, hidden_at) ON author TO errata_curator;
