-- Roles belong to the whole server, so another database may be creating or granting them at this moment.
DO $$
BEGIN
    FOR attempt IN 1..20 LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'errata_notary') THEN
                CREATE ROLE errata_notary LOGIN;
            END IF;
            IF NOT pg_has_role(current_user, 'errata_notary', 'SET') THEN
                GRANT errata_notary TO CURRENT_USER;
            END IF;
            EXIT;
        EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
            IF attempt = 20 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END $$;

CREATE SCHEMA IF NOT EXISTS log;

CREATE TABLE log.state (
    origin text NOT NULL,
    sequence bigint NOT NULL,
    size bigint NOT NULL,
    policy text NOT NULL,
    CONSTRAINT state_pkey PRIMARY KEY (origin)
);
COMMENT ON TABLE log.state IS
    'Where the notary goes on: the last fact of the stream ERRATA that it looked at, and how many leaves there are;
    `policy`, a tlog-policy, says whose signatures make a note valid';

CREATE TABLE log.leaf (
    index bigint NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid NOT NULL,
    data bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT leaf_pkey PRIMARY KEY (index),
    CONSTRAINT leaf_event_id_key UNIQUE (event_id),
    CONSTRAINT leaf_sequence_key UNIQUE (sequence)
);
CREATE TABLE log.node (
    level smallint NOT NULL,
    index bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT node_pkey PRIMARY KEY (level, index)
);
COMMENT ON TABLE log.node IS 'Roots of full tiles: `level` 1 is over 256 leaves, 2 over 65,536';
CREATE TABLE log.opening (
    index bigint NOT NULL REFERENCES log.leaf,
    j smallint NOT NULL,
    salt bytea NOT NULL,
    document bytea NOT NULL,
    CONSTRAINT opening_pkey PRIMARY KEY (index, j)
);
COMMENT ON TABLE log.opening IS 'What leaves commit to; it goes when a post is erased';
CREATE TABLE log.subject (
    id uuid NOT NULL,
    index bigint NOT NULL REFERENCES log.leaf,
    CONSTRAINT subject_pkey PRIMARY KEY (id, index)
);
CREATE INDEX subject_index_idx ON log.subject (index);
COMMENT ON TABLE log.subject IS 'Under which ids a leaf is found; they go with the openings';
CREATE TABLE log.checkpoint (
    size bigint NOT NULL,
    root bytea NOT NULL,
    note bytea NOT NULL,
    signed_at timestamptz NOT NULL,
    published_at timestamptz,
    witnessed_at timestamptz,
    CONSTRAINT checkpoint_pkey PRIMARY KEY (size)
);
COMMENT ON TABLE log.checkpoint IS
    'Every signed note, once for each size; it is stored before anybody sees it. `witnessed_at`: a quorum cosigned it';
CREATE TABLE log.cosignature (
    size bigint NOT NULL REFERENCES log.checkpoint,
    key_id bytea NOT NULL,
    line bytea NOT NULL,
    CONSTRAINT cosignature_pkey PRIMARY KEY (size, key_id)
);

CREATE FUNCTION log.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'log.% is only ever appended to', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log.leaf
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON log.node
    FOR EACH STATEMENT EXECUTE FUNCTION log.refuse_change();

GRANT USAGE ON SCHEMA ledger, log TO errata_notary;
GRANT SELECT ON ledger.fact, ledger.alembic_version TO errata_notary;
GRANT SELECT, INSERT ON log.leaf, log.node TO errata_notary;
GRANT SELECT, INSERT, UPDATE ON log.state, log.checkpoint, log.cosignature TO errata_notary;
GRANT SELECT, INSERT, DELETE ON log.opening, log.subject TO errata_notary;
GRANT USAGE ON SCHEMA log TO errata_reader, errata_operator, errata_curator;
GRANT SELECT (origin, sequence, size, policy) ON log.state TO errata_curator;
GRANT SELECT (size, signed_at, published_at, witnessed_at) ON log.checkpoint TO errata_curator;
GRANT SELECT ON ALL TABLES IN SCHEMA log TO errata_reader, errata_operator;
