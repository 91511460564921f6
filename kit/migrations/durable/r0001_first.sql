-- Roles belong to the whole server, so another database may be creating or granting them at this moment.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['errata_reader', 'errata_projector', 'errata_operator'] LOOP
        FOR attempt IN 1..20 LOOP
            BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                    EXECUTE format('CREATE ROLE %I NOLOGIN', name);
                END IF;
                IF NOT pg_has_role(current_user, name, 'SET') THEN
                    EXECUTE format('GRANT %I TO CURRENT_USER', name);
                END IF;
                EXIT;
            EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
                IF attempt = 20 THEN
                    RAISE;
                END IF;
            END;
        END LOOP;
    END LOOP;
END $$;

DO $$
BEGIN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO errata_projector', current_database());
END $$;

CREATE SCHEMA IF NOT EXISTS operator;

CREATE TABLE ledger.fact (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid,
    subject text NOT NULL,
    envelope bytea NOT NULL,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    stored_at timestamptz NOT NULL,
    CONSTRAINT fact_pkey PRIMARY KEY (stream, sequence)
);
CREATE INDEX fact_event_id_idx ON ledger.fact (event_id);
COMMENT ON TABLE ledger.fact IS
    'Every stored message as it was, in order. `event_id` NULL: it could not be decoded';

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger.fact is only ever appended to' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.fact
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE operator.instance_api_key (
    id uuid NOT NULL,
    name text NOT NULL,
    key_hash text NOT NULL,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT instance_api_key_pkey PRIMARY KEY (id),
    CONSTRAINT instance_api_key_key_hash_key UNIQUE (key_hash)
);

GRANT USAGE ON SCHEMA ledger TO errata_reader, errata_projector, errata_operator;
GRANT USAGE ON SCHEMA operator TO errata_reader, errata_operator;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO errata_reader, errata_operator;
GRANT SELECT, INSERT ON ledger.fact TO errata_projector;
GRANT SELECT ON ALL TABLES IN SCHEMA operator TO errata_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator.instance_api_key TO errata_operator;
