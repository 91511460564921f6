CREATE TABLE forgotten (
    post_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    reason text NOT NULL,
    forgotten_at timestamptz NOT NULL,
    CONSTRAINT forgotten_pkey PRIMARY KEY (post_id)
);
COMMENT ON TABLE forgotten IS 'Posts that somebody had the right to have erased; nothing of them is shown again';

GRANT SELECT ON forgotten TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON forgotten TO errata_projector;
