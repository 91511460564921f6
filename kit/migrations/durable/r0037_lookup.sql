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

-- After a rebuild of the read model, and once a log begins, nobody knows what has changed.
CREATE FUNCTION log.mark_lookups() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log.lookup_change (post_id)
    SELECT post_id FROM readmodel.search_document WHERE EXISTS (SELECT FROM log.state)
    UNION SELECT post_id FROM log.lookup_post;
END $$;

GRANT SELECT, INSERT, DELETE ON log.lookup_change TO errata_notary;
GRANT SELECT, INSERT, UPDATE, DELETE ON log.lookup_post, log.lookup_layout TO errata_notary;
GRANT USAGE ON SCHEMA log TO errata_projector;
GRANT SELECT (origin) ON log.state TO errata_projector;
GRANT INSERT ON log.lookup_change TO errata_projector;
GRANT SELECT ON log.lookup_post, log.lookup_layout, log.lookup_change TO errata_operator;
