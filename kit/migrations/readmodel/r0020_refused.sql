CREATE TABLE refused_fact (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT refused_fact_pkey PRIMARY KEY (stream, sequence)
);
COMMENT ON TABLE refused_fact IS 'Messages of the ledger that are not in these tables, and why';

GRANT SELECT ON refused_fact TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON refused_fact TO errata_projector;
