-- The read model. Trigrams lie outside this schema, which a rebuild drops; wherever somebody has put them already is as
-- good.
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows never change', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- A second read model that is built beside the live one changes nothing that readers see; all is marked when it becomes
-- the live one. Without a decision log there are no look-ups.
CREATE FUNCTION has_lookups(schema name) RETURNS boolean LANGUAGE sql STABLE
    RETURN (schema = 'readmodel') AND (EXISTS (SELECT FROM log.state));

CREATE FUNCTION without_statistics(index regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place int;
BEGIN
    FOR place IN SELECT n FROM pg_index, unnest(indkey) WITH ORDINALITY key(attnum, n)
        WHERE indexrelid = index AND attnum = 0
    LOOP
        EXECUTE format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', index, place);
    END LOOP;
END $$;
COMMENT ON FUNCTION without_statistics IS 'Lets ANALYZE pass over the expressions of an index';

CREATE FUNCTION mark_author() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) SELECT id FROM post WHERE author_id = new.id;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE author (
    id uuid NOT NULL,
    platform text NOT NULL,
    platform_user_id text NOT NULL,
    display_name text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    confirmed boolean DEFAULT false NOT NULL,
    hidden_at timestamptz,
    CONSTRAINT author_pkey PRIMARY KEY (id),
    CONSTRAINT author_platform_platform_user_id_key UNIQUE (platform, platform_user_id)
) WITH (fillfactor = 60);
CREATE INDEX author_hidden_idx ON author (id) WHERE (hidden_at IS NOT NULL);
-- Authors are listed and found only where a site has named them; strangers may make up any number of others.
CREATE INDEX author_display_name_id_idx ON author (display_name, id) WHERE confirmed;
DO $$
BEGIN
    EXECUTE format('CREATE INDEX author_find_idx ON author USING gin (display_name %s.gin_trgm_ops) WHERE confirmed',
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
END $$;
CREATE TRIGGER mark_author AFTER UPDATE OF hidden_at ON author FOR EACH ROW WHEN (old.hidden_at IS DISTINCT FROM
    new.hidden_at) EXECUTE FUNCTION mark_author();
GRANT SELECT (id, hidden_at) ON author TO errata_curator, errata_notary;

-- The posts of a hidden author are in no bucket.
CREATE FUNCTION mark_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) VALUES (new.id);
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE post (
    id uuid NOT NULL,
    platform text NOT NULL,
    external_id text NOT NULL,
    url text NOT NULL,
    author_id uuid,
    view_count integer NOT NULL,
    unique_view_score integer NOT NULL,
    hint_score integer NOT NULL,
    last_viewed_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    confirmed boolean DEFAULT false NOT NULL,
    CONSTRAINT post_pkey PRIMARY KEY (id),
    CONSTRAINT post_platform_external_id_key UNIQUE (platform, external_id),
    CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES author(id)
) WITH (fillfactor = 80);
CREATE INDEX post_author_id_idx ON post (author_id);
CREATE TRIGGER mark_post AFTER UPDATE OF author_id ON post FOR EACH ROW WHEN (old.author_id IS DISTINCT FROM
    new.author_id) EXECUTE FUNCTION mark_post();
GRANT SELECT (id, author_id, unique_view_score) ON post TO errata_curator;
GRANT SELECT (id, platform, external_id, author_id) ON post TO errata_notary;

CREATE TABLE candidate (
    post_id uuid NOT NULL,
    analysis text NOT NULL,
    post_version_id uuid NOT NULL,
    score integer NOT NULL,
    word_ok boolean NOT NULL,
    status text,
    eligible_at timestamptz,
    platform text NOT NULL,
    confirmed boolean NOT NULL,
    CONSTRAINT candidate_pkey PRIMARY KEY (post_id, analysis),
    CONSTRAINT candidate_post_id_fkey FOREIGN KEY (post_id) REFERENCES post(id)
) WITH (fillfactor = 80);
COMMENT ON TABLE candidate IS 'One version of each post: the one last seen, of those that its site confirmed if there are any. `status` NULL: not investigated; `eligible_at`: since when the selector may take it, NULL: under way, over, or vouched for by too few. FAILED may be taken only if nothing failed but runs that readers paid for';
CREATE INDEX candidate_next_idx ON candidate (analysis, platform, confirmed DESC, score DESC, post_id) INCLUDE
    (post_version_id) WHERE (word_ok AND (eligible_at IS NOT NULL) AND ((status IS NULL) OR (status = 'FAILED')));

CREATE TABLE forgotten (
    post_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    reason text NOT NULL,
    forgotten_at timestamptz NOT NULL,
    CONSTRAINT forgotten_pkey PRIMARY KEY (post_id)
);
COMMENT ON TABLE forgotten IS 'Posts that somebody had the right to have erased; nothing of them is shown again';
GRANT SELECT ON forgotten TO errata_curator;

CREATE TABLE integrity_anomaly (
    observation_id uuid NOT NULL,
    kind text NOT NULL,
    post_id uuid NOT NULL,
    platform text NOT NULL,
    external_id text NOT NULL,
    observed text NOT NULL,
    canonical text NOT NULL,
    detected_at timestamptz NOT NULL,
    CONSTRAINT integrity_anomaly_pkey PRIMARY KEY (observation_id, kind)
);
COMMENT ON TABLE integrity_anomaly IS 'What a reader sent and what the site says differ; it may precede its post, so it refers to none';
CREATE INDEX integrity_anomaly_newest_idx ON integrity_anomaly (detected_at DESC, observation_id DESC, kind DESC);
CREATE INDEX integrity_anomaly_platform_idx ON integrity_anomaly (platform, detected_at DESC, observation_id DESC, kind
    DESC);
CREATE INDEX integrity_anomaly_post_id_idx ON integrity_anomaly (post_id);

CREATE TABLE investigation_input (
    investigation_id uuid NOT NULL,
    provenance text NOT NULL,
    content_hash text NOT NULL,
    markdown_source text NOT NULL,
    markdown text,
    markdown_renderer_version text,
    created_at timestamptz NOT NULL,
    CONSTRAINT investigation_input_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_input_markdown_check CHECK ((((markdown_source = 'NONE') = (markdown IS NULL)) AND
        ((markdown IS NULL) = (markdown_renderer_version IS NULL)))),
    CONSTRAINT investigation_input_markdown_source_check CHECK (markdown_source IN ('SERVER_HTML', 'CLIENT_HTML',
        'NONE')),
    CONSTRAINT investigation_input_provenance_check CHECK (provenance IN ('SERVER_VERIFIED', 'CLIENT_FALLBACK'))
);
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_input FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE content_blob (
    content_hash text NOT NULL,
    content_text text NOT NULL,
    word_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT content_blob_pkey PRIMARY KEY (content_hash)
);
CREATE TRIGGER immutable BEFORE UPDATE ON content_blob FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE image_occurrence_set (
    occurrences_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT image_occurrence_set_pkey PRIMARY KEY (occurrences_hash)
);

-- Verified means that the site's page is kept: looked at when the transaction ends, since version and page come
-- together.
CREATE FUNCTION require_server_html() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM version_metadata WHERE post_version_id = new.id AND server_html_hash IS NOT NULL) THEN
        RAISE EXCEPTION 'version % is verified but the page of its site is not kept', new.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE post_version (
    id uuid NOT NULL,
    post_id uuid NOT NULL,
    version_hash text NOT NULL,
    content_hash text NOT NULL,
    occurrences_hash text NOT NULL,
    server_verified_at timestamptz,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    seen_count integer NOT NULL,
    correlation uuid NOT NULL,
    corroborated_at timestamptz,
    CONSTRAINT post_version_pkey PRIMARY KEY (id),
    CONSTRAINT post_version_post_id_content_hash_occurrences_hash_key UNIQUE (post_id, content_hash, occurrences_hash),
    CONSTRAINT post_version_post_id_version_hash_key UNIQUE (post_id, version_hash),
    CONSTRAINT post_version_content_hash_fkey FOREIGN KEY (content_hash) REFERENCES content_blob(content_hash),
    CONSTRAINT post_version_occurrences_hash_fkey FOREIGN KEY (occurrences_hash) REFERENCES
        image_occurrence_set(occurrences_hash),
    CONSTRAINT post_version_post_id_fkey FOREIGN KEY (post_id) REFERENCES post(id) ON DELETE CASCADE
) WITH (fillfactor = 85);
CREATE INDEX post_version_newest_idx ON post_version (post_id, last_seen_at DESC, id DESC);
CREATE CONSTRAINT TRIGGER verified_has_html_later AFTER UPDATE ON post_version DEFERRABLE INITIALLY DEFERRED FOR EACH
    ROW WHEN (((old.server_verified_at IS NULL) AND (new.server_verified_at IS NOT NULL))) EXECUTE FUNCTION
    require_server_html();
CREATE CONSTRAINT TRIGGER verified_has_html_new AFTER INSERT ON post_version DEFERRABLE INITIALLY DEFERRED FOR EACH
    ROW WHEN (new.server_verified_at IS NOT NULL) EXECUTE FUNCTION require_server_html();
-- A version keeps its content, and is verified and corroborated once.
CREATE TRIGGER content_is_fixed BEFORE UPDATE ON post_version FOR EACH ROW WHEN ((old.id, old.post_id,
    old.version_hash, old.content_hash, old.occurrences_hash, old.first_seen_at, old.correlation) IS DISTINCT FROM
    (new.id, new.post_id, new.version_hash, new.content_hash, new.occurrences_hash, new.first_seen_at,
    new.correlation)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER corroborated_once BEFORE UPDATE ON post_version FOR EACH ROW WHEN (((old.corroborated_at IS NOT NULL)
    AND (new.corroborated_at IS DISTINCT FROM old.corroborated_at))) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER verified_once BEFORE UPDATE ON post_version FOR EACH ROW WHEN (((old.server_verified_at IS NOT NULL)
    AND (new.server_verified_at IS DISTINCT FROM old.server_verified_at))) EXECUTE FUNCTION refuse_change();
GRANT SELECT (id, post_id, server_verified_at, last_seen_at) ON post_version TO errata_curator;
GRANT SELECT (id, post_id, content_hash) ON post_version TO errata_notary;

CREATE TABLE prompt (
    hash text NOT NULL,
    version text NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT prompt_pkey PRIMARY KEY (hash),
    CONSTRAINT prompt_version_key UNIQUE (version)
);
CREATE TRIGGER immutable BEFORE UPDATE ON prompt FOR EACH ROW EXECUTE FUNCTION refuse_change();
GRANT SELECT (hash, version) ON prompt TO errata_curator;

-- Somebody works on an investigation exactly while it is PROCESSING. By its key: asked for a row that is PROCESSING,
-- the planner may walk through the index of all that are.
CREATE FUNCTION require_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject uuid;
BEGIN
    IF TG_TABLE_NAME = 'investigation' THEN
        subject := new.id;
    ELSE
        subject := coalesce(new.investigation_id, old.investigation_id);
    END IF;
    IF coalesce((SELECT status = 'PROCESSING' FROM investigation WHERE id = subject), false)
        <> EXISTS (SELECT FROM investigation_lease WHERE investigation_id = subject)
    THEN
        RAISE EXCEPTION 'investigation % must have a lease exactly while it is PROCESSING', subject
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION require_verified_parent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM investigation parent
        JOIN investigation_input input ON input.investigation_id = parent.id
        JOIN post_version theirs ON theirs.id = parent.post_version_id
        JOIN post_version ours ON ours.id = new.post_version_id
        WHERE parent.id = new.parent_investigation_id AND parent.status = 'COMPLETE'
            AND input.provenance = 'SERVER_VERIFIED' AND theirs.post_id = ours.post_id
    ) THEN
        RAISE EXCEPTION 'the parent of investigation % is not a completed, verified one of the same post', new.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE investigation (
    id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    analysis text NOT NULL,
    input_id uuid,
    parent_investigation_id uuid,
    content_diff text,
    status text NOT NULL,
    prompt_hash text,
    provider text,
    model text,
    model_version text,
    checked_at timestamptz,
    queued_at timestamptz NOT NULL,
    retry_after timestamptz,
    failed_at timestamptz,
    failure text,
    failure_reason text,
    round integer NOT NULL,
    attempt_count integer NOT NULL,
    requested_by text,
    key_source text,
    requested_sequence bigint,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    origin text NOT NULL,
    origin_id uuid,
    rules text,
    gates jsonb,
    variant text,
    CONSTRAINT investigation_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_input_id_key UNIQUE (input_id),
    CONSTRAINT investigation_post_version_id_analysis_origin_origin_id_key UNIQUE NULLS NOT DISTINCT
        (post_version_id, analysis, origin, origin_id),
    CONSTRAINT investigation_checked_at_check CHECK ((checked_at IS NOT NULL) = (status = 'COMPLETE')),
    CONSTRAINT investigation_content_diff_check CHECK ((content_diff IS NOT NULL) = (parent_investigation_id IS NOT
        NULL)),
    CONSTRAINT investigation_failed_check CHECK (num_nonnulls(failed_at, failure, failure_reason) = CASE status WHEN
        'FAILED' THEN 3 ELSE 0 END),
    CONSTRAINT investigation_input_check CHECK (input_id = id),
    CONSTRAINT investigation_origin_check CHECK (origin IN ('ORIGINAL', 'APPEAL', 'RETRACTION', 'CONTROL')),
    CONSTRAINT investigation_origin_id_check CHECK ((origin = 'ORIGINAL') = (origin_id IS NULL)),
    CONSTRAINT investigation_parent_check CHECK (parent_investigation_id <> id),
    CONSTRAINT investigation_started_check CHECK (((num_nonnulls(input_id, prompt_hash, provider, model) = ANY
        (ARRAY[0, 4])) AND ((input_id IS NOT NULL) OR status IN ('PENDING', 'FAILED')))),
    CONSTRAINT investigation_status_check CHECK (status IN ('PENDING', 'PROCESSING', 'COMPLETE', 'FAILED')),
    CONSTRAINT investigation_input_id_fkey FOREIGN KEY (input_id) REFERENCES investigation_input(investigation_id),
    CONSTRAINT investigation_parent_investigation_id_fkey FOREIGN KEY (parent_investigation_id) REFERENCES
        investigation(id),
    CONSTRAINT investigation_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id),
    CONSTRAINT investigation_prompt_hash_fkey FOREIGN KEY (prompt_hash) REFERENCES prompt(hash)
) WITH (fillfactor = 70);
CREATE INDEX investigation_open_idx ON investigation (analysis, queued_at) WHERE status IN ('PENDING', 'PROCESSING');
CREATE INDEX investigation_parent_investigation_id_idx ON investigation (parent_investigation_id);
CREATE INDEX investigation_status_idx ON investigation (status);
CREATE INDEX investigation_variant_idx ON investigation (variant, checked_at);
CREATE CONSTRAINT TRIGGER leased_later AFTER UPDATE ON investigation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN
    (old.status IS DISTINCT FROM new.status) EXECUTE FUNCTION require_lease();
CREATE CONSTRAINT TRIGGER leased_new AFTER INSERT ON investigation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN
    (new.status = 'PROCESSING'::text) EXECUTE FUNCTION require_lease();
CREATE CONSTRAINT TRIGGER parent_is_verified AFTER INSERT OR UPDATE OF parent_investigation_id ON investigation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.parent_investigation_id IS NOT NULL) EXECUTE FUNCTION
    require_verified_parent();
-- A completed investigation is final; others may lean on it as parent, and readers may keep it.
CREATE TRIGGER complete_is_final BEFORE UPDATE ON investigation FOR EACH ROW WHEN (((old.status = 'COMPLETE'::text)
    AND (new.* IS DISTINCT FROM old.*))) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER version_is_fixed BEFORE UPDATE ON investigation FOR EACH ROW WHEN ((old.id, old.post_version_id,
    old.analysis, old.origin, old.origin_id) IS DISTINCT FROM (new.id, new.post_version_id, new.analysis, new.origin,
    new.origin_id)) EXECUTE FUNCTION refuse_change();
GRANT SELECT (id, post_version_id, analysis, status, prompt_hash, provider, model, checked_at, requested_by,
    requested_sequence, created_at, origin, origin_id, rules, gates, variant) ON investigation TO errata_curator;

CREATE TABLE post_prior (
    post_id uuid NOT NULL,
    analysis text NOT NULL,
    investigation_id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    checked_at timestamptz NOT NULL,
    CONSTRAINT post_prior_pkey PRIMARY KEY (post_id, analysis),
    CONSTRAINT post_prior_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id),
    CONSTRAINT post_prior_post_id_fkey FOREIGN KEY (post_id) REFERENCES post(id)
);
COMMENT ON TABLE post_prior IS 'The newest COMPLETE investigation of a post whose input was SERVER_VERIFIED';

CREATE TABLE post_view_credit (
    post_id uuid NOT NULL,
    viewer_key text NOT NULL,
    bucket_day date NOT NULL,
    ip_range_key text NOT NULL,
    weight integer NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT post_view_credit_pkey PRIMARY KEY (post_id, viewer_key, bucket_day),
    CONSTRAINT post_view_credit_post_id_fkey FOREIGN KEY (post_id) REFERENCES post(id)
);
CREATE INDEX post_view_credit_post_id_bucket_day_ip_range_key_idx ON post_view_credit (post_id, bucket_day,
    ip_range_key);
GRANT SELECT (post_id, bucket_day) ON post_view_credit TO errata_curator;

CREATE TABLE html_blob (
    html_hash text NOT NULL,
    html_content text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT html_blob_pkey PRIMARY KEY (html_hash)
);
CREATE TRIGGER immutable BEFORE UPDATE ON html_blob FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE image_occurrence (
    occurrences_hash text NOT NULL,
    original_index integer NOT NULL,
    normalized_text_offset integer NOT NULL,
    source_url text NOT NULL,
    caption_text text,
    CONSTRAINT image_occurrence_pkey PRIMARY KEY (occurrences_hash, original_index),
    CONSTRAINT image_occurrence_occurrences_hash_fkey FOREIGN KEY (occurrences_hash) REFERENCES
        image_occurrence_set(occurrences_hash) ON DELETE CASCADE
);
CREATE TRIGGER immutable BEFORE UPDATE ON image_occurrence FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE verification_failure (
    observation_id uuid NOT NULL,
    post_version_id uuid,
    reason text,
    detail text,
    failed_at timestamptz,
    post_id uuid,
    CONSTRAINT verification_failure_pkey PRIMARY KEY (observation_id)
);
COMMENT ON TABLE verification_failure IS 'Why the site did not confirm an observation, and the version it became; either may be known first';
CREATE INDEX verification_failure_post_id_idx ON verification_failure (post_id);
CREATE INDEX verification_failure_post_version_id_idx ON verification_failure (post_version_id);
GRANT SELECT (reason, failed_at, post_id) ON verification_failure TO errata_curator;

-- A table for each platform is what the requirements ask for; the rows of a later one lie in the last.
CREATE TABLE version_metadata (
    post_version_id uuid NOT NULL,
    platform text NOT NULL,
    server_html_hash text,
    client_html_hash text,
    image_urls text[] NOT NULL,
    document jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT version_metadata_pkey PRIMARY KEY (post_version_id, platform),
    CONSTRAINT version_metadata_client_html_hash_fkey FOREIGN KEY (client_html_hash) REFERENCES html_blob(html_hash),
    CONSTRAINT version_metadata_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id) ON
        DELETE CASCADE,
    CONSTRAINT version_metadata_server_html_hash_fkey FOREIGN KEY (server_html_hash) REFERENCES html_blob(html_hash)
) PARTITION BY LIST (platform);
COMMENT ON TABLE version_metadata IS 'What a site says about a version, or a reader while it is silent; `document` is checked by its platform';
-- The first HTML of a reader stays; the site's own may be replaced but not removed, and its word alone replaces words.
CREATE TRIGGER html_stays BEFORE UPDATE ON version_metadata FOR EACH ROW WHEN (((old.post_version_id IS DISTINCT FROM
    new.post_version_id) OR (old.platform IS DISTINCT FROM new.platform) OR (old.created_at IS DISTINCT FROM
    new.created_at) OR ((old.client_html_hash IS NOT NULL) AND (new.client_html_hash IS DISTINCT FROM
    old.client_html_hash)) OR ((old.server_html_hash IS NOT NULL) AND (new.server_html_hash IS NULL)) OR
    ((new.server_html_hash IS NULL) AND (new.document IS DISTINCT FROM old.document)))) EXECUTE FUNCTION
    refuse_change();
GRANT SELECT (post_version_id, document) ON version_metadata TO errata_curator;
GRANT SELECT (post_version_id, platform, document) ON version_metadata TO errata_notary;

CREATE TABLE version_metadata_lesswrong PARTITION OF version_metadata (
    CONSTRAINT version_metadata_lesswrong_html_check CHECK (num_nonnulls(server_html_hash, client_html_hash) > 0)
) FOR VALUES IN ('LESSWRONG');

CREATE TABLE version_metadata_other PARTITION OF version_metadata DEFAULT;

CREATE TABLE version_metadata_substack PARTITION OF version_metadata FOR VALUES IN ('SUBSTACK');

CREATE TABLE version_metadata_wikipedia PARTITION OF version_metadata FOR VALUES IN ('WIKIPEDIA');

CREATE TABLE version_metadata_x PARTITION OF version_metadata FOR VALUES IN ('X');

CREATE TABLE version_range (
    post_version_id uuid NOT NULL,
    ip_range_key text NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT version_range_pkey PRIMARY KEY (post_version_id, ip_range_key),
    CONSTRAINT version_range_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id) ON
        DELETE CASCADE
);
COMMENT ON TABLE version_range IS 'The first address ranges, hashed, from which a version was seen, until they are enough to corroborate it';

CREATE TABLE version_reporter (
    post_version_id uuid NOT NULL,
    reporter_key text NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT version_reporter_pkey PRIMARY KEY (post_version_id, reporter_key),
    CONSTRAINT version_reporter_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id) ON
        DELETE CASCADE
);
COMMENT ON TABLE version_reporter IS 'Holders of an instance key who saw a version: half of a corroboration credit';

CREATE TABLE breaker (
    scope text NOT NULL,
    state text NOT NULL,
    triggers jsonb NOT NULL,
    cause text,
    by text NOT NULL,
    quota integer,
    opened_at timestamptz,
    since timestamptz,
    since_sequence bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT breaker_pkey PRIMARY KEY (scope),
    CONSTRAINT breaker_state_check CHECK (state IN ('OPEN', 'HALF_OPEN', 'CLOSED'))
);
COMMENT ON TABLE breaker IS '`triggers`: [{trigger, numbers, at}] since it opened last. What happened before `since`, when it was last half opened or closed, opens it no more';
GRANT SELECT ON breaker TO errata_curator;
GRANT SELECT (scope, state) ON breaker TO errata_notary;

CREATE TABLE control_batch (
    id uuid NOT NULL,
    commitment text NOT NULL,
    size integer NOT NULL,
    closes_at timestamptz NOT NULL,
    committed_at timestamptz NOT NULL,
    opened_at timestamptz,
    CONSTRAINT control_batch_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE control_batch IS 'A list of posts in which nothing is wrong, by the hash that was published before any of them ran';
GRANT SELECT ON control_batch TO errata_curator;

CREATE TABLE control_run (
    investigation_id uuid NOT NULL,
    batch_id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    requested_at timestamptz NOT NULL,
    salt text,
    outcome text,
    CONSTRAINT control_run_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT control_run_outcome_check CHECK (outcome IN ('CLEAN', 'FLAGGED', 'FAILED', 'NOT_RUN')),
    CONSTRAINT control_run_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES control_batch(id),
    CONSTRAINT control_run_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id) ON
        DELETE CASCADE,
    CONSTRAINT control_run_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id)
);
COMMENT ON TABLE control_run IS 'A run whose answer is known; nothing of it is published. `salt` and `outcome` are there once its list is open';
CREATE INDEX control_run_batch_idx ON control_run (batch_id, requested_at);
CREATE INDEX control_run_post_version_id_idx ON control_run (post_version_id);
GRANT SELECT ON control_run TO errata_curator;

CREATE TABLE variant (
    variant text NOT NULL,
    parts jsonb NOT NULL,
    state text NOT NULL,
    quota integer,
    step integer NOT NULL,
    clean integer NOT NULL,
    after_wrong boolean NOT NULL,
    gate_tier text NOT NULL,
    since timestamptz NOT NULL,
    through bigint NOT NULL,
    why text NOT NULL,
    by text NOT NULL,
    announced_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT variant_pkey PRIMARY KEY (variant),
    CONSTRAINT variant_gate_tier_check CHECK (gate_tier IN ('PENDING', 'CLEAN', 'FAILED')),
    CONSTRAINT variant_state_check CHECK (state IN ('SHADOW', 'LIMITED', 'FULL'))
);
COMMENT ON TABLE variant IS 'How much of what a variant finds is displayed, as its newest event says; it holds for what was published at `since` or later. `parts`: {prompt, prompt_version, provider, model, rules, gates}';
GRANT SELECT ON variant TO errata_curator;

CREATE TABLE appeal (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    kind text NOT NULL,
    claims jsonb NOT NULL,
    words text NOT NULL,
    links jsonb NOT NULL,
    range_key text NOT NULL,
    opened_at timestamptz NOT NULL,
    outcome text,
    reason text,
    decided_at timestamptz,
    sequence bigint NOT NULL,
    by_author boolean NOT NULL,
    proof text,
    statement text,
    CONSTRAINT appeal_pkey PRIMARY KEY (id),
    CONSTRAINT appeal_kind_check CHECK (kind IN ('FALSE_POSITIVE', 'FALSE_NEGATIVE', 'CONTEXT')),
    CONSTRAINT appeal_outcome_check CHECK (outcome IN ('UPHELD', 'PARTLY', 'DISMISSED', 'REFUSED')),
    CONSTRAINT appeal_proof_check CHECK (proof IN ('PROVEN', 'NO_TOKEN', 'OTHER_AUTHOR', 'EXPIRED', 'UNAVAILABLE')),
    CONSTRAINT appeal_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
);
COMMENT ON TABLE appeal IS 'An objection to a result. `claims` are the ids of the findings that it names; no `outcome`: it is open. `sequence` is that of its opening. `by_author`: it claims to be the author''s, and is so if `proof` is PROVEN; else that is the outcome of the newest attempt. `statement` is public from then on, unless it is REFUSED';
CREATE INDEX appeal_investigation_id_idx ON appeal (investigation_id);
CREATE INDEX appeal_newest_idx ON appeal (coalesce(decided_at, opened_at) DESC, id DESC);
CREATE INDEX appeal_open_idx ON appeal (opened_at, id) WHERE (outcome IS NULL);
CREATE INDEX appeal_range_key_idx ON appeal (range_key, opened_at);

CREATE TABLE assertion (
    id uuid NOT NULL,
    published_key text NOT NULL,
    norm_version text NOT NULL,
    language text NOT NULL,
    canonical_sha256 text NOT NULL,
    guard_sha256 text NOT NULL,
    volatility text NOT NULL,
    requests integer NOT NULL,
    requested_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    canonical text,
    kept_until timestamptz,
    CONSTRAINT assertion_pkey PRIMARY KEY (id),
    CONSTRAINT assertion_volatility_check CHECK (volatility IN ('TIMELESS', 'DATED', 'SLOW', 'FAST')),
    CONSTRAINT assertion_words_check CHECK ((canonical IS NULL) = (kept_until IS NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE assertion IS 'A claim as such. `canonical` are its normalised words while they are kept; `requests` counts the analyses that were requested, `requested_at` and `sequence` are of the newest request';
CREATE INDEX assertion_canonical_sha256_idx ON assertion (canonical_sha256);
CREATE INDEX assertion_kept_until_idx ON assertion (kept_until);
CREATE INDEX assertion_published_key_idx ON assertion (published_key);
GRANT SELECT (id, published_key, requested_at, sequence) ON assertion TO errata_curator;

CREATE TABLE analysis (
    id uuid NOT NULL,
    assertion_id uuid NOT NULL,
    scenarios integer NOT NULL,
    evidence integer NOT NULL,
    depth text NOT NULL,
    volatility text NOT NULL,
    rollup text NOT NULL,
    recommended integer NOT NULL,
    missing integer NOT NULL,
    unavailable integer NOT NULL,
    not_looked_up integer NOT NULL,
    score_epoch integer NOT NULL,
    model text NOT NULL,
    analysed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    invalidated_at timestamptz,
    invalidated_why text,
    kept_until timestamptz,
    CONSTRAINT analysis_pkey PRIMARY KEY (id),
    CONSTRAINT analysis_invalidated_check CHECK ((invalidated_at IS NULL) = (invalidated_why IS NULL)),
    CONSTRAINT analysis_invalidated_why_check CHECK (invalidated_why IN ('RIGHTS', 'MODERATION', 'EDIT')),
    CONSTRAINT analysis_volatility_check CHECK (volatility IN ('TIMELESS', 'DATED', 'SLOW', 'FAST')),
    CONSTRAINT analysis_assertion_id_fkey FOREIGN KEY (assertion_id) REFERENCES assertion(id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE analysis IS 'An analysis of a claim; `id` is its run. `scenarios`, `evidence` and `depth` are its shape; `missing` and the two after it count evidence that was dropped, by why. `kept_until` NULL: its words are gone';
CREATE INDEX analysis_analysed_at_idx ON analysis (analysed_at);
CREATE INDEX analysis_assertion_id_idx ON analysis (assertion_id, analysed_at DESC);
CREATE INDEX analysis_kept_until_idx ON analysis (kept_until);
GRANT SELECT (id, assertion_id, rollup, recommended, missing, unavailable, not_looked_up, analysed_at, invalidated_at)
    ON analysis TO errata_curator;

CREATE TABLE assertion_sample (
    assertion_id uuid NOT NULL,
    place smallint NOT NULL,
    text text NOT NULL,
    said_at timestamptz NOT NULL,
    kept_until timestamptz NOT NULL,
    CONSTRAINT assertion_sample_pkey PRIMARY KEY (assertion_id, place),
    CONSTRAINT assertion_sample_place_check CHECK ((place >= 1) AND (place <= 5)),
    CONSTRAINT assertion_sample_assertion_id_fkey FOREIGN KEY (assertion_id) REFERENCES assertion(id) ON DELETE
        CASCADE
);
COMMENT ON TABLE assertion_sample IS 'A claim as an article words it, of the newest requests; places are used in turn';
CREATE INDEX assertion_sample_kept_until_idx ON assertion_sample (kept_until);

CREATE TABLE citation (
    analysis_id uuid NOT NULL,
    place integer NOT NULL,
    publisher_id uuid NOT NULL,
    domain text NOT NULL,
    url_sha256 text NOT NULL,
    scenario integer NOT NULL,
    supports boolean NOT NULL,
    relevance double precision NOT NULL,
    outcome text NOT NULL,
    score double precision,
    family integer NOT NULL,
    cited_at timestamptz NOT NULL,
    CONSTRAINT citation_pkey PRIMARY KEY (analysis_id, place),
    CONSTRAINT citation_analysis_id_fkey FOREIGN KEY (analysis_id) REFERENCES analysis(id) ON DELETE CASCADE
);
COMMENT ON TABLE citation IS 'That an analysis cites a source, without its words; `score` is the publisher''s when it was made';
CREATE INDEX citation_publisher_id_cited_at_idx ON citation (publisher_id, cited_at);
CREATE INDEX citation_url_sha256_idx ON citation (url_sha256);
GRANT SELECT (analysis_id, place, publisher_id, domain, scenario, supports, score, family) ON citation TO
    errata_curator;

CREATE TABLE scenario (
    id uuid NOT NULL,
    analysis_id uuid NOT NULL,
    ordinal integer NOT NULL,
    description text,
    assumptions text[],
    CONSTRAINT scenario_pkey PRIMARY KEY (id),
    CONSTRAINT scenario_words_check CHECK ((description IS NULL) = (assumptions IS NULL)),
    CONSTRAINT scenario_analysis_id_fkey FOREIGN KEY (analysis_id) REFERENCES analysis(id) ON DELETE CASCADE
);
COMMENT ON TABLE scenario IS 'One reading of a claim; its words while they are kept';
CREATE UNIQUE INDEX scenario_analysis_id_ordinal_idx ON scenario (analysis_id, ordinal);

CREATE TABLE evidence (
    id uuid NOT NULL,
    analysis_id uuid NOT NULL,
    scenario_id uuid NOT NULL,
    place integer NOT NULL,
    supports boolean NOT NULL,
    text text NOT NULL,
    source_url text NOT NULL,
    source_title text NOT NULL,
    quotes text[] NOT NULL,
    summary text,
    relevance double precision NOT NULL,
    credibility_score double precision NOT NULL,
    published_at text,
    family integer NOT NULL,
    kept_until timestamptz NOT NULL,
    CONSTRAINT evidence_pkey PRIMARY KEY (id),
    CONSTRAINT evidence_quote_words_check CHECK ((array_to_string(quotes, chr(30)) !~
        '([^ \t\n\r\x1e]+[ \t\n\r]+){25}[^ \t\n\r\x1e]')),
    CONSTRAINT evidence_quotes_check CHECK (cardinality(quotes) <= 3),
    CONSTRAINT evidence_analysis_id_fkey FOREIGN KEY (analysis_id) REFERENCES analysis(id) ON DELETE CASCADE,
    CONSTRAINT evidence_scenario_id_fkey FOREIGN KEY (scenario_id) REFERENCES scenario(id) ON DELETE CASCADE
);
COMMENT ON TABLE evidence IS 'A source of a scenario with its quotes, each of at most 25 words; the row goes when its words go, what was cited stays in `citation`';
CREATE INDEX evidence_analysis_id_scenario_id_idx ON evidence (analysis_id, scenario_id);
CREATE INDEX evidence_scenario_id_idx ON evidence (scenario_id);

CREATE TABLE verdict (
    scenario_id uuid NOT NULL,
    label text NOT NULL,
    probability double precision,
    confidence double precision NOT NULL,
    supporting integer NOT NULL,
    opposing integer NOT NULL,
    families integer NOT NULL,
    explanation text,
    uncertainty_factors text[],
    CONSTRAINT verdict_pkey PRIMARY KEY (scenario_id),
    CONSTRAINT verdict_shares_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double
        precision) AND ((probability >= (0)::double precision) AND (probability <= (1)::double precision)))),
    CONSTRAINT verdict_words_check CHECK ((explanation IS NULL) = (uncertainty_factors IS NULL)),
    CONSTRAINT verdict_scenario_id_fkey FOREIGN KEY (scenario_id) REFERENCES scenario(id) ON DELETE CASCADE
);
COMMENT ON TABLE verdict IS 'The estimate for a scenario, of which there is one; never a correction';

CREATE TABLE claim_candidate (
    claim_id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    attempt integer,
    ordinal integer NOT NULL,
    payload jsonb NOT NULL,
    state text NOT NULL,
    gate text,
    reason text,
    retained_from uuid,
    proposed_at timestamptz NOT NULL,
    decided_at timestamptz,
    CONSTRAINT claim_candidate_pkey PRIMARY KEY (claim_id),
    CONSTRAINT claim_candidate_decided_check CHECK ((state = 'PENDING') = (decided_at IS NULL)),
    CONSTRAINT claim_candidate_state_check CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED', 'FAILED')),
    CONSTRAINT claim_candidate_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id) ON
        DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE claim_candidate IS 'Progress: what the model submitted and what became of it. `attempt` NULL: kept from an earlier version';
CREATE INDEX claim_candidate_investigation_id_idx ON claim_candidate (investigation_id);
GRANT SELECT (claim_id, investigation_id, attempt, state) ON claim_candidate TO errata_curator;

CREATE TABLE claim_review (
    id uuid NOT NULL,
    claim_id uuid NOT NULL,
    round integer NOT NULL,
    outcome text NOT NULL,
    gate text,
    reason text,
    status_code integer,
    request_model text,
    request_instructions text,
    request_input text,
    request_reasoning_effort text,
    request_reasoning_summary text,
    requested_tools jsonb,
    output_items jsonb,
    response_id text,
    response_status text,
    response_model_version text,
    response_output_text text,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    total_tokens integer NOT NULL,
    cached_input_tokens integer,
    reasoning_output_tokens integer,
    cost_micro_usd bigint,
    transcript_hash text,
    transcript_state text,
    started_at timestamptz,
    completed_at timestamptz,
    decided_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    prompt_hash text,
    gates jsonb DEFAULT '[]' NOT NULL,
    CONSTRAINT claim_review_pkey PRIMARY KEY (id),
    CONSTRAINT claim_review_claim_id_round_attempt_key UNIQUE (claim_id, round, attempt),
    CONSTRAINT claim_review_outcome_check CHECK (outcome IN ('APPROVED', 'REJECTED', 'FAILED', 'RETRIED')),
    CONSTRAINT claim_review_transcript_check CHECK ((transcript_state IS NULL) = (transcript_hash IS NULL)),
    CONSTRAINT claim_review_transcript_state_check CHECK (transcript_state IN ('read', 'missing', 'unreadable',
        'too_large')),
    CONSTRAINT claim_review_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim_candidate(claim_id) ON DELETE
        CASCADE,
    CONSTRAINT claim_review_prompt_hash_fkey FOREIGN KEY (prompt_hash) REFERENCES prompt(hash)
);
COMMENT ON TABLE claim_review IS 'The verdict on a candidate in one round, and the exchange with the model that was asked for it, if one was; before it, RETRIED and numbered by `attempt`, what failed for now. `output_items`: as the parts of an attempt, with text_parts, annotations, reasoning_summaries and tool_call. `gates`: [{gate, outcome, code}], in their order';
CREATE INDEX claim_review_rejected_idx ON claim_review (decided_at, gate) WHERE (outcome = 'REJECTED');
CREATE TRIGGER immutable BEFORE UPDATE ON claim_review FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE investigation_attempt (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    attempt_number integer NOT NULL,
    outcome text,
    request_model text NOT NULL,
    prompt_hash text CONSTRAINT investigation_attempt_request_instructions_not_null NOT NULL,
    content_hash text CONSTRAINT investigation_attempt_request_input_not_null NOT NULL,
    request_reasoning_effort text,
    request_reasoning_summary text,
    response_id text,
    response_status text,
    response_model_version text,
    response_output_text text,
    transcript_hash text,
    started_at timestamptz NOT NULL,
    completed_at timestamptz,
    round integer NOT NULL,
    request_instructions text,
    request_input text,
    transcript_state text,
    CONSTRAINT investigation_attempt_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_investigation_id_attempt_number_key UNIQUE (investigation_id, attempt_number),
    CONSTRAINT investigation_attempt_completed_check CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT investigation_attempt_outcome_check CHECK (outcome IN ('SUCCEEDED', 'FAILED')),
    CONSTRAINT investigation_attempt_request_check CHECK (num_nonnulls(request_instructions, request_input) = CASE
        transcript_state WHEN 'read' THEN 2 ELSE 0 END),
    CONSTRAINT investigation_attempt_transcript_check CHECK ((transcript_state IS NULL) = (transcript_hash IS NULL)),
    CONSTRAINT investigation_attempt_transcript_state_check CHECK (transcript_state IN ('read', 'missing',
        'unreadable', 'too_large')),
    CONSTRAINT investigation_attempt_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES
        investigation(id) ON DELETE CASCADE,
    CONSTRAINT investigation_attempt_prompt_hash_fkey FOREIGN KEY (prompt_hash) REFERENCES prompt(hash)
) WITH (fillfactor = 80);
COMMENT ON TABLE investigation_attempt IS 'What was sent and what came back; the exact texts are there once the transcript was read. It lies in the blob store by its hash: sha256/<transcript_hash>, or for a long one answers/<investigation_id>/.../<transcript_hash>. A transcript that is not `read` left no further rows';
CREATE INDEX investigation_attempt_investigation_id_started_at_idx ON investigation_attempt (investigation_id,
    started_at);

CREATE TABLE investigation_attempt_output_item (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    output_index integer NOT NULL,
    provider_item_id text,
    item_type text NOT NULL,
    item_status text,
    CONSTRAINT investigation_attempt_output_item_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_output_item_attempt_id_output_index_key UNIQUE (attempt_id, output_index),
    CONSTRAINT investigation_attempt_output_item_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES
        investigation_attempt(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_text_part (
    id uuid NOT NULL,
    output_item_id uuid NOT NULL,
    part_index integer NOT NULL,
    part_type text NOT NULL,
    text text NOT NULL,
    CONSTRAINT investigation_attempt_text_part_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_text_part_output_item_id_part_index_key UNIQUE (output_item_id, part_index),
    CONSTRAINT investigation_attempt_text_part_output_item_id_fkey FOREIGN KEY (output_item_id) REFERENCES
        investigation_attempt_output_item(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_annotation (
    id uuid NOT NULL,
    text_part_id uuid NOT NULL,
    annotation_index integer NOT NULL,
    annotation_type text NOT NULL,
    start_index integer,
    end_index integer,
    url text,
    title text,
    file_id text,
    CONSTRAINT investigation_attempt_annotation_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_annotation_text_part_id_annotatio_c52a UNIQUE (text_part_id, annotation_index),
    CONSTRAINT investigation_attempt_annotation_text_part_id_fkey FOREIGN KEY (text_part_id) REFERENCES
        investigation_attempt_text_part(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_error (
    attempt_id uuid NOT NULL,
    error_name text NOT NULL,
    error_message text NOT NULL,
    status_code integer,
    created_at timestamptz NOT NULL,
    CONSTRAINT investigation_attempt_error_pkey PRIMARY KEY (attempt_id),
    CONSTRAINT investigation_attempt_error_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES
        investigation_attempt(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_reasoning_summary (
    id uuid NOT NULL,
    output_item_id uuid NOT NULL,
    summary_index integer NOT NULL,
    text text NOT NULL,
    CONSTRAINT investigation_attempt_reasoning_summary_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_reasoning_summary_output_item_id__0ba6 UNIQUE (output_item_id, summary_index),
    CONSTRAINT investigation_attempt_reasoning_summary_output_item_id_fkey FOREIGN KEY (output_item_id) REFERENCES
        investigation_attempt_output_item(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_requested_tool (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    request_order integer NOT NULL,
    tool_type text NOT NULL,
    raw_definition jsonb NOT NULL,
    CONSTRAINT investigation_attempt_requested_tool_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_requested_tool_attempt_id_request_2e71 UNIQUE (attempt_id, request_order),
    CONSTRAINT investigation_attempt_requested_tool_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES
        investigation_attempt(id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_tool_call (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    output_item_id uuid NOT NULL,
    output_index integer NOT NULL,
    provider_tool_call_id text,
    tool_type text NOT NULL,
    status text,
    raw_payload jsonb NOT NULL,
    captured_at timestamptz NOT NULL,
    provider_started_at timestamptz,
    provider_completed_at timestamptz,
    CONSTRAINT investigation_attempt_tool_call_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_tool_call_attempt_id_output_index_key UNIQUE (attempt_id, output_index),
    CONSTRAINT investigation_attempt_tool_call_output_item_id_key UNIQUE (output_item_id),
    CONSTRAINT investigation_attempt_tool_call_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES
        investigation_attempt(id) ON DELETE CASCADE,
    CONSTRAINT investigation_attempt_tool_call_output_item_id_fkey FOREIGN KEY (output_item_id) REFERENCES
        investigation_attempt_output_item(id) ON DELETE CASCADE
);
COMMENT ON TABLE investigation_attempt_tool_call IS 'A call of the provider''s tools or of ours; of ours it is known when they were carried out';

CREATE TABLE investigation_attempt_usage (
    attempt_id uuid NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    total_tokens integer NOT NULL,
    cached_input_tokens integer,
    reasoning_output_tokens integer,
    created_at timestamptz NOT NULL,
    cost_micro_usd bigint,
    CONSTRAINT investigation_attempt_usage_pkey PRIMARY KEY (attempt_id),
    CONSTRAINT investigation_attempt_usage_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES
        investigation_attempt(id) ON DELETE CASCADE
);

CREATE TABLE entry (
    id uuid NOT NULL,
    assertion_id uuid NOT NULL,
    status text NOT NULL,
    version integer NOT NULL,
    edit_count integer NOT NULL,
    wording text NOT NULL,
    domain text NOT NULL,
    summary text,
    published_wording text NOT NULL,
    published_domain text NOT NULL,
    words_until timestamptz,
    reworded boolean NOT NULL,
    stale text[] NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    staled_sequence bigint NOT NULL,
    renewed_sequence bigint NOT NULL,
    analysis_id uuid,
    confidence_score integer,
    completeness_score integer,
    evidence_summary jsonb,
    source_names text[],
    scenario_summary jsonb,
    scenario_count integer,
    cache_updated_at timestamptz,
    searched tsvector GENERATED ALWAYS AS (
        ((to_tsvector('simple'::regconfig, ((((wording || ' ') || domain) || ' ') || COALESCE(summary, ''))) ||
        jsonb_to_tsvector('simple'::regconfig, COALESCE(evidence_summary, '[]'), '["string"]')) ||
        jsonb_to_tsvector('simple'::regconfig, COALESCE(scenario_summary, '[]'), '["string"]'))
    ) STORED,
    risk_score integer,
    CONSTRAINT entry_pkey PRIMARY KEY (id),
    CONSTRAINT entry_edit_count_check CHECK (edit_count = (version - 1)),
    CONSTRAINT entry_risk_score_check CHECK (risk_score BETWEEN 0 AND 100),
    CONSTRAINT entry_scores_check CHECK (((confidence_score >= 0) AND (confidence_score <= 100) AND
        ((completeness_score >= 0) AND (completeness_score <= 100)))),
    CONSTRAINT entry_status_check CHECK (status IN ('PUBLISHED', 'HIDDEN')),
    CONSTRAINT entry_assertion_id_fkey FOREIGN KEY (assertion_id) REFERENCES assertion(id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE entry IS 'A claim with a page, as its newest edit left it. Summaries and scores are of the newest analysis of its assertion, `analysis_id`, and change with it; `cache_updated_at` is when that was made. `risk_score`: half of it is confidence that lacks, half how evenly evidence is divided; without evidence that half is whole';
CREATE INDEX entry_analysis_idx ON entry (analysis_id);
CREATE UNIQUE INDEX entry_assertion_id_idx ON entry (assertion_id);
CREATE INDEX entry_newest_idx ON entry (updated_at DESC, id);
CREATE INDEX entry_searched_idx ON entry USING gin (searched);
CREATE INDEX entry_words_idx ON entry (words_until) WHERE (words_until IS NOT NULL);
GRANT SELECT (id, assertion_id, status, reworded, stale, created_at, staled_sequence, analysis_id, cache_updated_at)
    ON entry TO errata_curator;

CREATE TABLE edit (
    id uuid NOT NULL,
    entry_id uuid NOT NULL,
    version integer NOT NULL,
    edit_type text NOT NULL,
    entity_type text NOT NULL,
    entity_id uuid NOT NULL,
    fields text[] NOT NULL,
    hidden boolean NOT NULL,
    made_by uuid,
    reason text,
    before_state jsonb,
    after_state jsonb,
    kept_until timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT edit_pkey PRIMARY KEY (id),
    CONSTRAINT edit_edit_type_check CHECK (edit_type IN ('CONTENT_CORRECTION', 'CLARIFICATION', 'SYSTEM_REANALYSIS',
        'MODERATION_ACTION', 'REVERT')),
    CONSTRAINT edit_words_check CHECK ((((reason IS NULL) = (kept_until IS NULL)) AND ((before_state IS NULL) =
        (kept_until IS NULL)) AND ((after_state IS NULL) = (kept_until IS NULL)))),
    CONSTRAINT edit_entry_id_fkey FOREIGN KEY (entry_id) REFERENCES entry(id) ON DELETE CASCADE
);
COMMENT ON TABLE edit IS 'A change of an entry; its words while they are kept. `made_by` NULL: the system';
CREATE UNIQUE INDEX edit_entry_id_version_idx ON edit (entry_id, version);
CREATE INDEX edit_kept_until_idx ON edit (kept_until);
GRANT SELECT (entry_id, entity_id) ON edit TO errata_curator;

CREATE TABLE flag (
    id uuid NOT NULL,
    entity_type text NOT NULL,
    entity_id uuid,
    issue_type text NOT NULL,
    account_id uuid,
    description text,
    kept_until timestamptz,
    status text NOT NULL,
    resolved_by uuid,
    note text,
    note_until timestamptz,
    created_at timestamptz NOT NULL,
    resolved_at timestamptz,
    claim_sha256 text,
    CONSTRAINT flag_pkey PRIMARY KEY (id),
    CONSTRAINT flag_note_check CHECK ((note IS NULL) = (note_until IS NULL)),
    CONSTRAINT flag_resolved_check CHECK ((status = 'OPEN') = (resolved_at IS NULL)),
    CONSTRAINT flag_status_check CHECK (status IN ('OPEN', 'ACCEPTED', 'DISMISSED')),
    CONSTRAINT flag_words_check CHECK ((description IS NULL) = (kept_until IS NULL))
);
COMMENT ON TABLE flag IS 'An objection and what was decided; the words of people while they are kept';
CREATE INDEX flag_account_id_idx ON flag (account_id);
CREATE INDEX flag_entity_id_idx ON flag (entity_id);
CREATE INDEX flag_kept_until_idx ON flag (kept_until);
CREATE INDEX flag_note_until_idx ON flag (note_until);
CREATE INDEX flag_open_idx ON flag (created_at, id) WHERE (status = 'OPEN');
GRANT SELECT (id, entity_id, issue_type, account_id, status, created_at, resolved_at) ON flag TO errata_curator;

CREATE TABLE source_check (
    claim_id uuid NOT NULL,
    round integer NOT NULL,
    ordinal integer NOT NULL,
    url text NOT NULL,
    status text NOT NULL,
    reason text,
    final_url text,
    page_hash text,
    size_bytes integer,
    media_type text,
    fetched_at timestamptz,
    CONSTRAINT source_check_pkey PRIMARY KEY (claim_id, round, ordinal),
    CONSTRAINT source_check_page_check CHECK (num_nonnulls(final_url, page_hash, size_bytes, media_type, fetched_at)
        = ANY (ARRAY[0, 5])),
    CONSTRAINT source_check_status_check CHECK (status IN ('found', 'missing', 'unavailable', 'unchecked')),
    CONSTRAINT source_check_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim_candidate(claim_id) ON DELETE
        CASCADE
);
COMMENT ON TABLE source_check IS 'What became of each source of a candidate, one set a round, in the order of its payload; the page''s bytes as they came lie in the blob store under sha256/<page_hash>';
CREATE INDEX source_check_page_hash_idx ON source_check (page_hash);
CREATE TRIGGER immutable BEFORE UPDATE ON source_check FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE claim (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    ordinal integer NOT NULL,
    text text NOT NULL,
    context text NOT NULL,
    summary text NOT NULL,
    reasoning text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT claim_pkey PRIMARY KEY (id),
    CONSTRAINT claim_investigation_id_ordinal_key UNIQUE (investigation_id, ordinal),
    CONSTRAINT claim_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
);
CREATE TRIGGER immutable BEFORE UPDATE ON claim FOR EACH ROW EXECUTE FUNCTION refuse_change();
GRANT SELECT (id, investigation_id, ordinal) ON claim TO errata_curator;

CREATE TABLE corroboration_credit (
    investigation_id uuid NOT NULL,
    reporter_key text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT corroboration_credit_pkey PRIMARY KEY (investigation_id, reporter_key),
    CONSTRAINT corroboration_credit_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
);

CREATE FUNCTION mark_finding() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id, day)
        SELECT DISTINCT v.post_id, (c.changed_at AT TIME ZONE 'UTC')::date
        FROM changed c LEFT JOIN investigation i ON i.id = c.investigation_id
            LEFT JOIN post_version v ON v.id = i.post_version_id;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE finding_state (
    claim_id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    state text NOT NULL,
    cause text NOT NULL,
    note text NOT NULL,
    changed_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT finding_state_pkey PRIMARY KEY (claim_id),
    CONSTRAINT finding_state_cause_check CHECK (cause IN ('APPEAL', 'REVIEW', 'CONTROL', 'SOURCE_CHANGED',
        'OPERATOR')),
    CONSTRAINT finding_state_state_check CHECK (state IN ('SUSPENDED', 'RELEASED', 'RETRACTED')),
    CONSTRAINT finding_state_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim(id) ON DELETE CASCADE,
    CONSTRAINT finding_state_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
);
COMMENT ON TABLE finding_state IS 'What became of published claims that were suspended or retracted at some time. `sequence` is that of the newest event';
CREATE INDEX finding_state_investigation_id_idx ON finding_state (investigation_id);
CREATE INDEX finding_state_newest_idx ON finding_state (changed_at DESC, claim_id DESC);
CREATE TRIGGER mark_earlier_finding AFTER UPDATE ON finding_state REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION mark_finding();
CREATE TRIGGER mark_erased_finding AFTER DELETE ON finding_state REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION mark_finding();
CREATE TRIGGER mark_finding AFTER INSERT ON finding_state REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE
    FUNCTION mark_finding();
CREATE TRIGGER mark_finding_again AFTER UPDATE ON finding_state REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION mark_finding();
GRANT SELECT (claim_id, investigation_id, state, cause, changed_at, sequence) ON finding_state TO errata_curator;
GRANT SELECT (claim_id, investigation_id, state, cause, changed_at) ON finding_state TO errata_notary;

CREATE TABLE image_blob (
    content_hash text NOT NULL,
    storage_key text NOT NULL,
    original_url text NOT NULL,
    mime_type text NOT NULL,
    size_bytes integer NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT image_blob_pkey PRIMARY KEY (content_hash),
    CONSTRAINT image_blob_storage_key_key UNIQUE (storage_key)
);

CREATE TABLE investigation_doc (
    investigation_id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    analysis text NOT NULL,
    provenance text NOT NULL,
    checked_at timestamptz NOT NULL,
    claim_count integer NOT NULL,
    claims jsonb NOT NULL,
    withdrawn jsonb NOT NULL,
    variant text,
    CONSTRAINT investigation_doc_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_doc_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id),
    CONSTRAINT investigation_doc_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id)
);
COMMENT ON TABLE investigation_doc IS 'One row for each COMPLETE investigation, ready to send; only `finding_state` changes it. `claims`: [{id, text, context, summary, reasoning, sources: [{url, title, snippet}]}], those that stand; `claim_count`: how many; `withdrawn`: those that are suspended or retracted';
CREATE INDEX investigation_doc_standing_idx ON investigation_doc (variant, checked_at) WHERE (claim_count > 0);
CREATE INDEX investigation_doc_version_idx ON investigation_doc (post_version_id, analysis, checked_at DESC,
    investigation_id DESC) INCLUDE (claim_count);
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_doc FOR EACH ROW WHEN ((old.investigation_id,
    old.post_version_id, old.analysis, old.provenance, old.checked_at) IS DISTINCT FROM (new.investigation_id,
    new.post_version_id, new.analysis, new.provenance, new.checked_at)) EXECUTE FUNCTION refuse_change();
GRANT SELECT (investigation_id, post_version_id, analysis, provenance, checked_at, claim_count, variant) ON
    investigation_doc TO errata_curator;
GRANT SELECT (investigation_id, post_version_id, analysis, checked_at) ON investigation_doc TO errata_notary;

CREATE TABLE investigation_image (
    investigation_id uuid NOT NULL,
    content_hash text NOT NULL,
    image_order integer NOT NULL,
    CONSTRAINT investigation_image_pkey PRIMARY KEY (investigation_id, content_hash),
    CONSTRAINT investigation_image_investigation_id_image_order_key UNIQUE (investigation_id, image_order),
    CONSTRAINT investigation_image_content_hash_fkey FOREIGN KEY (content_hash) REFERENCES image_blob(content_hash)
        ON DELETE CASCADE,
    CONSTRAINT investigation_image_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
        ON DELETE CASCADE
);
CREATE INDEX investigation_image_content_hash_idx ON investigation_image (content_hash);

CREATE TABLE investigation_lease (
    investigation_id uuid NOT NULL,
    lease_owner text NOT NULL,
    attempt integer NOT NULL,
    started_at timestamptz NOT NULL,
    CONSTRAINT investigation_lease_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_lease_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
        ON DELETE CASCADE
);
CREATE CONSTRAINT TRIGGER leased AFTER INSERT OR DELETE ON investigation_lease DEFERRABLE INITIALLY DEFERRED FOR EACH
    ROW EXECUTE FUNCTION require_lease();

CREATE TABLE investigation_picture (
    investigation_id uuid NOT NULL,
    original_index integer NOT NULL,
    source_url text NOT NULL,
    fate text NOT NULL,
    content_hash text,
    same_as integer,
    reason text,
    CONSTRAINT investigation_picture_pkey PRIMARY KEY (investigation_id, original_index),
    CONSTRAINT investigation_picture_content_hash_check CHECK ((content_hash IS NOT NULL) = (fate = 'used')),
    CONSTRAINT investigation_picture_fate_check CHECK (fate IN ('used', 'duplicate', 'omitted', 'unavailable')),
    CONSTRAINT investigation_picture_reason_check CHECK ((reason IS NOT NULL) = fate IN ('omitted', 'unavailable')),
    CONSTRAINT investigation_picture_same_as_check CHECK ((same_as IS NOT NULL) = (fate = 'duplicate')),
    CONSTRAINT investigation_picture_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES
        investigation(id) ON DELETE CASCADE
);
COMMENT ON TABLE investigation_picture IS 'What became of every picture of the post when the input was frozen; `reason`: why it was not shown';
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_picture FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE source (
    claim_id uuid NOT NULL,
    ordinal integer NOT NULL,
    url text NOT NULL,
    title text NOT NULL,
    snippet text NOT NULL,
    snapshot_text text,
    snapshot_hash text,
    retrieved_at timestamptz NOT NULL,
    CONSTRAINT source_pkey PRIMARY KEY (claim_id, ordinal),
    CONSTRAINT source_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim(id) ON DELETE CASCADE
);
CREATE TRIGGER immutable BEFORE UPDATE ON source FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE credit_period (
    period_id uuid NOT NULL,
    account_id uuid NOT NULL,
    month text NOT NULL,
    limit_micro_usd bigint,
    hard boolean NOT NULL,
    used_micro_usd bigint NOT NULL,
    reserved_micro_usd bigint NOT NULL,
    open_jobs integer NOT NULL,
    extraction_day date,
    extractions integer NOT NULL,
    sequence bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT credit_period_pkey PRIMARY KEY (period_id)
) WITH (fillfactor = 70);
COMMENT ON TABLE credit_period IS 'An account''s credit of one month, as its newest entry, of this `sequence`, left it';
CREATE UNIQUE INDEX credit_period_account_id_month_idx ON credit_period (account_id, month);

CREATE TABLE credit_entry (
    period_id uuid NOT NULL,
    cause_id uuid NOT NULL,
    entry text NOT NULL,
    micro_usd bigint NOT NULL,
    used_micro_usd bigint NOT NULL,
    sequence bigint NOT NULL,
    posted_at timestamptz NOT NULL,
    CONSTRAINT credit_entry_pkey PRIMARY KEY (period_id, cause_id, entry),
    CONSTRAINT credit_entry_entry_check CHECK (entry IN ('RESERVED', 'SETTLED', 'RELEASED', 'EXTRACTION', 'ADJUSTED')),
    CONSTRAINT credit_entry_period_id_fkey FOREIGN KEY (period_id) REFERENCES credit_period(period_id) ON DELETE
        CASCADE
);
COMMENT ON TABLE credit_entry IS 'One entry of a period. `cause_id` is the job, of ADJUSTED the correction itself; `used_micro_usd` is what was used of the period after it';
CREATE INDEX credit_entry_cause_id_idx ON credit_entry (cause_id);

CREATE TABLE erased_entity (
    entity_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    reason text NOT NULL,
    erased_at timestamptz NOT NULL,
    CONSTRAINT erased_entity_pkey PRIMARY KEY (entity_id)
);
COMMENT ON TABLE erased_entity IS 'Jobs, assertions and accounts that were erased; later facts about them are not applied';

CREATE TABLE job (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    period_id uuid,
    mode text NOT NULL,
    status text NOT NULL,
    options jsonb NOT NULL,
    options_hash text NOT NULL,
    input_type text NOT NULL,
    content_sha256 text,
    reserved_micro_usd bigint NOT NULL,
    prices jsonb NOT NULL,
    has_webhook boolean NOT NULL,
    deadline_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    fetched_at timestamptz,
    characters integer,
    language text,
    reference_day date,
    stages jsonb,
    score_epoch integer,
    extracted_at timestamptz,
    memo_id uuid,
    memo_of uuid,
    extraction jsonb,
    planned_at timestamptz,
    resolved_at timestamptz,
    complete boolean,
    ended_at timestamptz,
    code text,
    result jsonb,
    overall_verdict text,
    credibility_score double precision,
    risk_tier text,
    publication_mode text,
    requires_review boolean,
    charged_micro_usd bigint,
    from_cache integer,
    newly_analysed integer,
    stages_cached text[],
    CONSTRAINT job_pkey PRIMARY KEY (id),
    CONSTRAINT job_code_check CHECK ((status = 'FAILED') = (code IS NOT NULL)),
    CONSTRAINT job_ended_check CHECK (status IN ('QUEUED', 'RUNNING') = (ended_at IS NULL)),
    CONSTRAINT job_mode_check CHECK (mode IN ('CREDIT', 'CACHE_ONLY')),
    CONSTRAINT job_result_check CHECK ((status = 'SUCCEEDED') = (result IS NOT NULL)),
    CONSTRAINT job_status_check CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED'))
) WITH (fillfactor = 70);
COMMENT ON TABLE job IS 'One audit of an article. `extraction` and `result` name texts that lie under until/ in the blob store and expire at their hour; the row does not change then';
CREATE INDEX job_account_id_id_idx ON job (account_id, created_at DESC, id);
CREATE INDEX job_ended_idx ON job (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX job_memo_id_idx ON job (memo_id) WHERE (status = 'SUCCEEDED');
CREATE INDEX job_open_idx ON job (deadline_at) WHERE (ended_at IS NULL);
GRANT SELECT (id, status, created_at, ended_at, code) ON job TO errata_curator;

CREATE TABLE job_claim (
    job_id uuid NOT NULL,
    number integer NOT NULL,
    assertion_id uuid NOT NULL,
    claim_hash text NOT NULL,
    central boolean NOT NULL,
    claim_type text NOT NULL,
    evaluability text NOT NULL,
    risk_tier text NOT NULL,
    domain text NOT NULL,
    volatility text NOT NULL,
    anchor text,
    outcome text,
    run_id uuid,
    analysis_id uuid,
    stale boolean NOT NULL,
    failure text,
    CONSTRAINT job_claim_pkey PRIMARY KEY (job_id, number),
    CONSTRAINT job_claim_outcome_check CHECK (outcome IN ('HIT', 'OWN', 'JOINED', 'MISS', 'UNUSABLE')),
    CONSTRAINT job_claim_job_id_fkey FOREIGN KEY (job_id) REFERENCES job(id) ON DELETE CASCADE
);
COMMENT ON TABLE job_claim IS 'A claim of an article: what the claim cache answered (`outcome`), and the analysis that serves it or why there is none; neither: it was a miss';
CREATE INDEX job_claim_assertion_id_idx ON job_claim (assertion_id);
GRANT SELECT (job_id, assertion_id, central, outcome) ON job_claim TO errata_curator;

CREATE TABLE purge (
    what text NOT NULL,
    slot text NOT NULL,
    before timestamptz NOT NULL,
    purged_at timestamptz NOT NULL,
    CONSTRAINT purge_pkey PRIMARY KEY (what)
);
COMMENT ON TABLE purge IS 'Up to when words of one sort are deleted: all that were kept until `before` at the latest';

CREATE TABLE run_attempt (
    run_id uuid NOT NULL,
    attempt integer NOT NULL,
    step text NOT NULL,
    subject_id uuid NOT NULL,
    worker text NOT NULL,
    delivery_count integer NOT NULL,
    prompt_version text NOT NULL,
    prompt_hash text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    rules text NOT NULL,
    cost_limit_micro_usd bigint,
    started_at timestamptz NOT NULL,
    calls integer NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    total_tokens integer NOT NULL,
    cached_input_tokens integer,
    reasoning_output_tokens integer,
    cost_micro_usd bigint,
    outcome text,
    answered_by text,
    failure text,
    reason text,
    status_code integer,
    error_name text,
    retry_at timestamptz,
    completed_at timestamptz,
    CONSTRAINT run_attempt_pkey PRIMARY KEY (run_id, attempt),
    CONSTRAINT run_attempt_completed_check CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT run_attempt_failure_check CHECK (((NOT (outcome IS DISTINCT FROM 'FAILED')) = (failure IS NOT NULL))),
    CONSTRAINT run_attempt_outcome_check CHECK (outcome IN ('SUCCEEDED', 'FAILED'))
) WITH (fillfactor = 70);
COMMENT ON TABLE run_attempt IS 'A paid try of a step; `subject_id` is the job or the assertion, the texts are nowhere here. `cost_micro_usd` NULL: the model''s price is not known, or nothing was answered yet';
CREATE INDEX run_attempt_failed_idx ON run_attempt (completed_at) WHERE (outcome = 'FAILED');
CREATE INDEX run_attempt_started_at_idx ON run_attempt (started_at);
CREATE INDEX run_attempt_subject_id_idx ON run_attempt (subject_id);
GRANT SELECT (run_id, prompt_hash, rules, cost_micro_usd, outcome, reason, completed_at) ON run_attempt TO
    errata_curator;

CREATE TABLE stage_config (
    stage text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    max_tokens integer NOT NULL,
    temperature double precision NOT NULL,
    configured_by uuid NOT NULL,
    configured_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT stage_config_pkey PRIMARY KEY (stage)
);
COMMENT ON TABLE stage_config IS 'The model of a step of audits that an operator chose; without a row the environment decides';

CREATE TABLE label (
    id uuid NOT NULL,
    uri text NOT NULL,
    cid text NOT NULL,
    val text NOT NULL,
    neg boolean NOT NULL,
    cts timestamptz NOT NULL,
    exp timestamptz NOT NULL,
    post_id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    why text NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT label_pkey PRIMARY KEY (id),
    CONSTRAINT label_why_check CHECK (why IN ('PUBLISHED', 'RENEWED', 'WITHDRAWN', 'REPLACED', 'FORGOTTEN',
        'NOT_PUBLIC'))
) WITH (fillfactor = 80);
COMMENT ON TABLE label IS 'A value on a pinned record. `sequence` is that of the newest event; `neg`: the label was taken back';
CREATE INDEX label_sequence_idx ON label (sequence);
CREATE INDEX label_uri_idx ON label (uri text_pattern_ops);
GRANT SELECT ON label TO errata_curator;

CREATE TABLE parked (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    awaits text NOT NULL,
    CONSTRAINT parked_pkey PRIMARY KEY (stream, sequence)
);
COMMENT ON TABLE parked IS 'Facts that came before what they speak of; their text is in the ledger';
CREATE INDEX parked_awaits_idx ON parked (awaits);

CREATE TABLE position (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT position_pkey PRIMARY KEY (stream)
);
COMMENT ON TABLE position IS 'The last sequence of each stream that these tables hold';
GRANT SELECT ON position TO errata_curator;

CREATE TABLE refused_fact (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    subject text NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT refused_fact_pkey PRIMARY KEY (stream, sequence)
);
COMMENT ON TABLE refused_fact IS 'Messages of the ledger that are not in these tables, and why';

CREATE TABLE publisher (
    id uuid NOT NULL,
    domain text NOT NULL,
    name text,
    type text NOT NULL,
    correction_policy integer,
    editorial_standards integer,
    bias_transparency integer,
    longevity integer,
    corrections_count integer,
    correction_frequency double precision,
    set_score integer,
    rated_sequence bigint NOT NULL,
    epoch integer NOT NULL,
    track_record_score double precision,
    accuracy double precision,
    correct integer NOT NULL,
    total integer NOT NULL,
    correct_weight integer NOT NULL,
    total_weight integer NOT NULL,
    total_citations integer NOT NULL,
    claim_count integer NOT NULL,
    why text,
    last_updated timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT publisher_pkey PRIMARY KEY (id),
    CONSTRAINT publisher_why_check CHECK (why IN ('INITIAL', 'COMPUTED', 'SET'))
) WITH (fillfactor = 70);
COMMENT ON TABLE publisher IS 'A publisher of cited sources as its newest score and its newest rating leave it. `total` citations were judged, of `total_citations`; `sequence` is of the newest score, 0: it has none yet';
CREATE UNIQUE INDEX publisher_domain_idx ON publisher (domain);
-- Names of sources by what they begin with.
CREATE INDEX publisher_names_idx ON publisher (domain text_pattern_ops);
GRANT SELECT ON publisher TO errata_curator;

CREATE TABLE publisher_rating (
    publisher_id uuid NOT NULL,
    sequence bigint NOT NULL,
    type text NOT NULL,
    correction_policy integer,
    editorial_standards integer,
    bias_transparency integer,
    longevity integer,
    score integer,
    reason text NOT NULL,
    rated_by uuid NOT NULL,
    rated_at timestamptz NOT NULL,
    CONSTRAINT publisher_rating_pkey PRIMARY KEY (publisher_id, sequence),
    CONSTRAINT publisher_rating_reason_check CHECK (reason IN ('FIRST_RATING', 'MONTHLY_AUDIT', 'POLICY_CHANGED',
        'OWNER_CHANGED', 'COMPLAINT', 'MISTAKE'))
);
COMMENT ON TABLE publisher_rating IS 'What people said of a publisher; the newest one before an epoch''s end of ratings counts in it';
CREATE INDEX publisher_rating_rated_at_idx ON publisher_rating (rated_at);
GRANT SELECT ON publisher_rating TO errata_curator;

CREATE TABLE publisher_score (
    publisher_id uuid NOT NULL,
    epoch integer NOT NULL,
    score double precision NOT NULL,
    accuracy double precision NOT NULL,
    correct integer NOT NULL,
    total integer NOT NULL,
    why text NOT NULL,
    scored_at timestamptz NOT NULL,
    CONSTRAINT publisher_score_pkey PRIMARY KEY (publisher_id, epoch),
    CONSTRAINT publisher_score_why_check CHECK (why IN ('INITIAL', 'COMPUTED', 'SET'))
);
COMMENT ON TABLE publisher_score IS 'A publisher''s score in an epoch; in an epoch without a row the one before it counts';
GRANT SELECT ON publisher_score TO errata_curator;

CREATE TABLE score_epoch (
    epoch integer NOT NULL,
    publishers integer NOT NULL,
    closed_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT score_epoch_pkey PRIMARY KEY (epoch)
);
COMMENT ON TABLE score_epoch IS 'An ISO week whose scores are all stored: 100 times its year plus its number';
GRANT SELECT ON score_epoch TO errata_curator;

CREATE TABLE error_pattern (
    id uuid NOT NULL,
    category text NOT NULL,
    root_cause text NOT NULL,
    claim_id uuid,
    frequency integer NOT NULL,
    epoch integer NOT NULL,
    status text NOT NULL,
    created_at timestamptz NOT NULL,
    fixed_at timestamptz,
    sequence bigint NOT NULL,
    CONSTRAINT error_pattern_pkey PRIMARY KEY (id),
    CONSTRAINT error_pattern_fixed_check CHECK ((status = 'FIXED') = (fixed_at IS NOT NULL)),
    CONSTRAINT error_pattern_status_check CHECK (status IN ('OPEN', 'FIXED'))
);
COMMENT ON TABLE error_pattern IS 'A cause of errors as its newest week left it, with its `frequency`; `claim_id` names an assertion of it';
GRANT SELECT ON error_pattern TO errata_curator;

CREATE TABLE quality_day (
    type text NOT NULL,
    category text NOT NULL,
    day timestamptz NOT NULL,
    samples integer NOT NULL,
    mean double precision NOT NULL,
    low double precision NOT NULL,
    high double precision NOT NULL,
    missed integer NOT NULL,
    CONSTRAINT quality_day_pkey PRIMARY KEY (type, category, day)
);
COMMENT ON TABLE quality_day IS 'A metric''s samples of a day two years ago, in their place; `missed` were beyond their target';
GRANT SELECT ON quality_day TO errata_curator;

-- How well audits and the catalogue do, by the hour, and what goes wrong, by the week.
CREATE TABLE quality_metric (
    type text NOT NULL,
    category text NOT NULL,
    hour timestamptz NOT NULL,
    value double precision NOT NULL,
    target double precision,
    at_most boolean NOT NULL,
    n integer NOT NULL,
    CONSTRAINT quality_metric_pkey PRIMARY KEY (type, category, hour)
);
COMMENT ON TABLE quality_metric IS 'A metric over the 24 hours before `hour`; `value` should reach `target`, or stay below it if `at_most`';
GRANT SELECT ON quality_metric TO errata_curator;

CREATE TABLE review_sample (
    id uuid NOT NULL,
    seed text NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    size integer NOT NULL,
    drawn_from integer NOT NULL,
    drawn integer NOT NULL,
    drawn_at timestamptz NOT NULL,
    CONSTRAINT review_sample_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE review_sample IS 'Findings that were drawn for review; `drawn` of `drawn_from`. Those that are not in `review_sample_claim` have been erased';

CREATE TABLE review (
    claim_id uuid NOT NULL,
    reviewer text NOT NULL,
    sample_id uuid CONSTRAINT review_sample_id_not_null1 NOT NULL,
    verdict text NOT NULL,
    decided_on date NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT review_pkey PRIMARY KEY (claim_id, reviewer),
    CONSTRAINT review_verdict_check CHECK (verdict IN ('RIGHT', 'PARTLY', 'WRONG')),
    CONSTRAINT review_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim(id) ON DELETE CASCADE,
    CONSTRAINT review_sample_id_fkey FOREIGN KEY (sample_id) REFERENCES review_sample(id)
) WITH (fillfactor = 80);
COMMENT ON TABLE review IS 'What a reviewer from outside said last of a finding; `sequence` is that of the event';
CREATE INDEX review_sequence_idx ON review (sequence);
CREATE INDEX review_wrong_idx ON review (claim_id) WHERE (verdict = 'WRONG');
GRANT SELECT (claim_id, reviewer, verdict, sequence) ON review TO errata_curator;

CREATE TABLE review_sample_claim (
    sample_id uuid NOT NULL,
    claim_id uuid NOT NULL,
    place integer NOT NULL,
    CONSTRAINT review_sample_claim_pkey PRIMARY KEY (sample_id, claim_id),
    CONSTRAINT review_sample_claim_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES claim(id) ON DELETE CASCADE,
    CONSTRAINT review_sample_claim_sample_id_fkey FOREIGN KEY (sample_id) REFERENCES review_sample(id)
);
COMMENT ON TABLE review_sample_claim IS 'A finding of a sample; `place` is by its hash, from 0';
CREATE INDEX review_sample_claim_claim_id_idx ON review_sample_claim (claim_id);

-- Characters of which trigrams know nothing: everything but the letters and digits of English, and spaces.
CREATE FUNCTION search_signs(body text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN string_to_array(regexp_replace(body, '[a-z0-9 ]+', '', 'g'), NULL);

CREATE FUNCTION mark_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) SELECT DISTINCT post_id FROM changed;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE search_document (
    investigation_id uuid NOT NULL,
    post_id uuid NOT NULL,
    author_id uuid,
    platform text NOT NULL,
    checked_at timestamptz NOT NULL,
    claim_count integer NOT NULL,
    words tsvector NOT NULL,
    body text NOT NULL,
    CONSTRAINT search_document_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT search_document_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
-- How a search reads is not left to the planner, so statistics of words are not kept.
ALTER TABLE search_document ALTER COLUMN words SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
COMMENT ON TABLE search_document IS 'The public record: one row for each COMPLETE investigation of a version that its site has verified or readers have corroborated. `author_id`: as the site says; NULL where only readers name one. `body`: lower case, one line each for title, author, address, findings and text; `words`: all of that but the text';
CREATE INDEX search_document_author_idx ON search_document (author_id, checked_at DESC, investigation_id DESC) INCLUDE
    (platform, claim_count, post_id);
DO $$
BEGIN
    EXECUTE format('CREATE INDEX search_document_find_idx ON search_document USING gin (body %s.gin_trgm_ops,
        search_signs(body), words) WITH (gin_pending_list_limit = 1024)',
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
END $$;
SELECT without_statistics('search_document_find_idx');
CREATE INDEX search_document_newest_idx ON search_document (checked_at DESC, investigation_id DESC) INCLUDE (platform,
    claim_count, post_id);
CREATE INDEX search_document_post_id_idx ON search_document (post_id) INCLUDE (platform, claim_count);
CREATE TRIGGER immutable BEFORE UPDATE ON search_document FOR EACH ROW WHEN ((old.investigation_id, old.post_id,
    old.platform, old.checked_at) IS DISTINCT FROM (new.investigation_id, new.post_id, new.platform, new.checked_at))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER mark_listed AFTER INSERT ON search_document REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE
    FUNCTION mark_listed();
CREATE TRIGGER mark_unlisted AFTER DELETE ON search_document REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION mark_listed();
GRANT SELECT (investigation_id, post_id, claim_count) ON search_document TO errata_notary;

CREATE TABLE version_heading (
    post_version_id uuid NOT NULL,
    url text NOT NULL,
    title text,
    author_id uuid,
    author_name text,
    confirmed boolean DEFAULT false NOT NULL,
    CONSTRAINT version_heading_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT version_heading_post_version_id_fkey FOREIGN KEY (post_version_id) REFERENCES post_version(id) ON
        DELETE CASCADE
);
COMMENT ON TABLE version_heading IS 'What stands above a version: as it was first seen until its site has said it, then as the site said; later sightings do not change it';
CREATE TRIGGER immutable BEFORE UPDATE ON version_heading FOR EACH ROW WHEN (old.confirmed) EXECUTE FUNCTION
    refuse_change();

CREATE TABLE expense (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    round integer NOT NULL,
    stage text NOT NULL,
    total_tokens integer NOT NULL,
    cost_micro_usd bigint,
    spent_at timestamptz NOT NULL,
    CONSTRAINT expense_pkey PRIMARY KEY (id),
    CONSTRAINT expense_stage_check CHECK (stage IN ('INVESTIGATION', 'VALIDATION')),
    CONSTRAINT expense_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id) ON DELETE
        CASCADE
);
COMMENT ON TABLE expense IS 'What an attempt or a review used; `id` is the attempt''s, or derives from claim and round. `cost_micro_usd` NULL: nobody knows the model''s price';
CREATE INDEX expense_investigation_id_idx ON expense (investigation_id);
CREATE INDEX expense_spent_at_idx ON expense (spent_at);
CREATE TRIGGER growing BEFORE UPDATE ON expense FOR EACH ROW WHEN (((new.total_tokens < old.total_tokens) OR ((new.id
    IS DISTINCT FROM old.id) OR (new.investigation_id IS DISTINCT FROM old.investigation_id) OR (new.round IS DISTINCT
    FROM old.round) OR (new.stage IS DISTINCT FROM old.stage)))) EXECUTE FUNCTION refuse_change();

CREATE TABLE investigation_round (
    investigation_id uuid NOT NULL,
    round integer NOT NULL,
    requested_by text,
    key_source text,
    requested_at timestamptz,
    fault text,
    CONSTRAINT investigation_round_pkey PRIMARY KEY (investigation_id, round),
    CONSTRAINT investigation_round_requested_check CHECK (num_nonnulls(requested_by, key_source, requested_at) = ANY
        (ARRAY[0, 3])),
    CONSTRAINT investigation_round_investigation_id_fkey FOREIGN KEY (investigation_id) REFERENCES investigation(id)
        ON DELETE CASCADE
);
COMMENT ON TABLE investigation_round IS 'One request for a run. `fault`: why it failed, if it did; USER_KEY says nothing about the post. Nothing but a fault: the end was told before the request';
CREATE INDEX investigation_round_requested_at_idx ON investigation_round (requested_at);

-- Readers and operators read every table, and the projector alone writes. The curator and the notary see the columns
-- that they need, above, and no words.
DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %1$I TO errata_reader, errata_projector, errata_operator, errata_curator,
            errata_notary;
        GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO errata_reader, errata_operator;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %1$I TO errata_projector', current_schema());
END $$;
