CREATE TABLE appeal (
    id UUID NOT NULL,
    investigation_id UUID NOT NULL,
    kind TEXT NOT NULL,
    claims JSONB NOT NULL,
    words TEXT NOT NULL,
    links JSONB NOT NULL,
    range_key TEXT NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    outcome TEXT,
    reason TEXT,
    decided_at TIMESTAMP WITH TIME ZONE,
    sequence BIGINT NOT NULL,
    CONSTRAINT appeal_pkey PRIMARY KEY (id),
    CONSTRAINT appeal_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id),
    CONSTRAINT appeal_kind_check CHECK (kind IN ('FALSE_POSITIVE', 'FALSE_NEGATIVE', 'CONTEXT')),
    CONSTRAINT appeal_outcome_check CHECK (outcome IN ('UPHELD', 'PARTLY', 'DISMISSED', 'REFUSED'))
);
CREATE INDEX appeal_investigation_id_idx ON appeal (investigation_id);
CREATE INDEX appeal_open_idx ON appeal (opened_at, id) WHERE outcome IS NULL;
CREATE INDEX appeal_range_key_idx ON appeal (range_key, opened_at);
COMMENT ON TABLE appeal IS 'A reader''s objection to a result. `claims` are the ids of the findings that it names; no `outcome`: it is open. `sequence` is that of its opening';

GRANT SELECT ON appeal TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON appeal TO errata_projector;
