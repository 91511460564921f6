CREATE TABLE ledger.skipped (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    reason text NOT NULL,
    skipped_at timestamptz NOT NULL,
    CONSTRAINT skipped_pkey PRIMARY KEY (stream, sequence)
);
COMMENT ON TABLE ledger.skipped IS
    'Messages that an operator has told the projector to leave out, in the live tables and in every rebuild';
GRANT SELECT ON ledger.skipped TO errata_reader, errata_projector;
GRANT SELECT, INSERT ON ledger.skipped TO errata_operator;
