-- Roles belong to the whole server, so another database may be creating or granting them at this moment. What the owner
-- may not change was set by deploy/roles.sql, which an administrator ran.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'errata_reader', 'errata_projector', 'errata_operator', 'errata_curator', 'errata_notary'] LOOP
        FOR attempt IN 1..20 LOOP
            BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                    EXECUTE format('CREATE ROLE %I LOGIN', name);
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

DO $$
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;

DO $$
BEGIN
    REVOKE EXECUTE ON FUNCTION
        pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
EXCEPTION WHEN insufficient_privilege OR internal_error THEN
    NULL;
END $$;

CREATE SCHEMA IF NOT EXISTS operator;
CREATE SCHEMA IF NOT EXISTS log;

CREATE TABLE ledger.fact (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    event_id uuid,
    subject text NOT NULL,
    envelope bytea NOT NULL,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    stored_at timestamptz NOT NULL,
    erased_by uuid,
    CONSTRAINT fact_pkey PRIMARY KEY (stream, sequence)
);
CREATE INDEX fact_event_id_idx ON ledger.fact (event_id);
COMMENT ON TABLE ledger.fact IS
    'Every stored message as it was, in order. `event_id` NULL: it could not be decoded';
COMMENT ON COLUMN ledger.fact.erased_by IS
    'The event of the erasure that took the body; hash and place stay, so the chain can still be proved';

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND old.erased_by IS NULL AND new.erased_by IS NOT NULL AND new.envelope = ''::bytea
        AND old.subject NOT LIKE 'errata.v1.erasure.%'
        AND old.subject NOT LIKE 'errata.v1.entity_erasure.%'
        AND (old.stream, old.sequence, old.event_id, old.subject, old.previous_hash, old.hash, old.stored_at)
            IS NOT DISTINCT FROM
            (new.stream, new.sequence, new.event_id, new.subject, new.previous_hash, new.hash, new.stored_at)
        AND EXISTS (SELECT FROM ledger.fact WHERE event_id = new.erased_by AND stream = old.stream
            AND (subject LIKE 'errata.v1.erasure.ordered.%' OR subject LIKE 'errata.v1.entity_erasure.ordered.%'))
    THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'ledger.fact is only ever appended to' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.fact
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger.fact
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE ledger.skipped (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    reason text NOT NULL,
    skipped_at timestamptz NOT NULL,
    CONSTRAINT skipped_pkey PRIMARY KEY (stream, sequence)
);
COMMENT ON TABLE ledger.skipped IS
    'Messages that an operator has told the projector to leave out, in the live tables and in every rebuild';

CREATE TABLE operator.account (
    id uuid NOT NULL,
    username text NOT NULL,
    email text,
    role text NOT NULL,
    tier text NOT NULL,
    credit_limit_micro_usd bigint,
    webhook_secrets bytea[] NOT NULL DEFAULT '{}',
    has_webhook_secret boolean NOT NULL GENERATED ALWAYS AS (cardinality(webhook_secrets) > 0) STORED,
    created_at timestamptz NOT NULL,
    closed_at timestamptz,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_username_key UNIQUE (username),
    CONSTRAINT account_email_key UNIQUE (email),
    CONSTRAINT account_role_check CHECK (role IN ('reader', 'contributor', 'moderator', 'admin')),
    CONSTRAINT account_tier_check CHECK (tier IN ('free', 'pro', 'enterprise')),
    CONSTRAINT account_credit_limit_micro_usd_check CHECK (credit_limit_micro_usd >= 0),
    CONSTRAINT account_webhook_secrets_check CHECK (cardinality(webhook_secrets) <= 2)
);
COMMENT ON COLUMN operator.account.credit_limit_micro_usd IS 'A month''s credit by contract; NULL: the tier''s';
COMMENT ON COLUMN operator.account.webhook_secrets IS
    'Sealed with the master key for the id of the account, newest first; two while they are rotated';
COMMENT ON COLUMN operator.account.has_webhook_secret IS
    'What services that send no webhooks may know of the secrets';

CREATE TABLE operator.instance_api_key (
    id uuid NOT NULL,
    name text NOT NULL,
    key_hash text NOT NULL,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    account_id uuid,
    rights text[] NOT NULL DEFAULT '{investigate,corroborate}',
    CONSTRAINT instance_api_key_pkey PRIMARY KEY (id),
    CONSTRAINT instance_api_key_key_hash_key UNIQUE (key_hash),
    CONSTRAINT instance_api_key_account_id_fkey
        FOREIGN KEY (account_id) REFERENCES operator.account ON DELETE CASCADE,
    CONSTRAINT instance_api_key_rights_check
        CHECK (cardinality(rights) > 0 AND rights <@ ARRAY['investigate', 'corroborate', 'audit']),
    CONSTRAINT instance_api_key_account_check CHECK (account_id IS NOT NULL OR NOT 'audit' = ANY (rights))
);
CREATE INDEX instance_api_key_account_id_idx ON operator.instance_api_key (account_id);

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

CREATE TABLE log.lookup_change (
    n bigint GENERATED ALWAYS AS IDENTITY,
    post_id uuid,
    day date,
    CONSTRAINT lookup_change_pkey PRIMARY KEY (n),
    CONSTRAINT lookup_change_what_check CHECK (num_nonnulls(post_id, day) > 0)
);
COMMENT ON TABLE log.lookup_change IS
    'Posts and days about which something changed that private look-ups show; rows go when the change is published.
    Rows are only added, so the projector never waits for the notary';

CREATE TABLE log.lookup_post (
    post_id uuid NOT NULL,
    key bytea NOT NULL,
    has_findings boolean NOT NULL,
    digest bytea NOT NULL,
    checked_at timestamptz NOT NULL,
    CONSTRAINT lookup_post_pkey PRIMARY KEY (post_id)
);
CREATE INDEX lookup_post_key_idx ON log.lookup_post (key);
CREATE INDEX lookup_post_found_idx ON log.lookup_post (post_id) WHERE has_findings;
COMMENT ON TABLE log.lookup_post IS
    'The posts in buckets. `digest`: of what the bucket says of the post, so that a repeated change builds nothing;
    `checked_at`: of its newest result';

CREATE TABLE log.lookup_layout (
    bits smallint NOT NULL,
    since timestamptz NOT NULL,
    built integer NOT NULL,
    is_current boolean NOT NULL,
    retired_at timestamptz,
    CONSTRAINT lookup_layout_pkey PRIMARY KEY (bits),
    CONSTRAINT lookup_layout_retired_check CHECK (NOT is_current OR retired_at IS NULL)
);
CREATE UNIQUE INDEX lookup_layout_current_idx ON log.lookup_layout (is_current) WHERE is_current;
COMMENT ON TABLE log.lookup_layout IS
    'Layouts of buckets. `since`: when it was first wanted; `built`: how many of its buckets are there, from the first';

-- After a rebuild of the read model, and once a log begins, what has changed is unknown.
CREATE FUNCTION log.mark_lookups() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log.lookup_change (post_id)
    SELECT post_id FROM readmodel.search_document WHERE EXISTS (SELECT FROM log.state)
    UNION SELECT post_id FROM log.lookup_post;
END $$;

GRANT USAGE ON SCHEMA ledger TO errata_reader, errata_projector, errata_operator, errata_curator, errata_notary;
GRANT USAGE ON SCHEMA operator TO errata_reader, errata_operator, errata_curator;
GRANT USAGE ON SCHEMA log TO errata_reader, errata_projector, errata_operator, errata_curator, errata_notary;
GRANT SELECT ON ledger.alembic_version
    TO errata_reader, errata_projector, errata_operator, errata_curator, errata_notary;
GRANT SELECT ON ledger.fact TO errata_reader, errata_operator, errata_notary;
GRANT SELECT, INSERT ON ledger.fact TO errata_projector;
GRANT SELECT ON ledger.skipped TO errata_reader, errata_projector;
GRANT SELECT, INSERT ON ledger.skipped TO errata_operator;

-- Readers serve requests: they need no name, no mail address and no sealed secret.
GRANT SELECT ON operator.instance_api_key TO errata_reader;
GRANT SELECT (id, role, tier, credit_limit_micro_usd, has_webhook_secret, closed_at)
    ON operator.account TO errata_reader;
GRANT SELECT (id, webhook_secrets, closed_at) ON operator.account TO errata_curator;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator.account, operator.instance_api_key TO errata_operator;

GRANT SELECT, INSERT ON log.leaf, log.node TO errata_notary;
GRANT SELECT, INSERT, UPDATE ON log.state, log.checkpoint, log.cosignature TO errata_notary;
GRANT SELECT, INSERT, DELETE ON log.opening, log.subject, log.lookup_change TO errata_notary;
GRANT SELECT, INSERT, UPDATE, DELETE ON log.lookup_post, log.lookup_layout TO errata_notary;
GRANT SELECT (origin) ON log.state TO errata_projector;
GRANT INSERT ON log.lookup_change TO errata_projector;
GRANT SELECT (origin, sequence, size, policy) ON log.state TO errata_curator;
GRANT SELECT (size, signed_at, published_at, witnessed_at) ON log.checkpoint TO errata_curator;
GRANT SELECT ON log.state, log.leaf, log.node, log.opening, log.subject, log.checkpoint, log.cosignature
    TO errata_reader, errata_operator;
GRANT SELECT ON log.lookup_post, log.lookup_layout, log.lookup_change TO errata_operator;
