CREATE TABLE author (
    id uuid NOT NULL,
    platform text NOT NULL,
    platform_user_id text NOT NULL,
    display_name text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT author_pkey PRIMARY KEY (id),
    CONSTRAINT author_platform_platform_user_id_key UNIQUE (platform, platform_user_id)
);

CREATE TABLE content_blob (
    content_hash text NOT NULL,
    content_text text NOT NULL,
    word_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT content_blob_pkey PRIMARY KEY (content_hash)
);

CREATE TABLE html_blob (
    html_hash text NOT NULL,
    html_content text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT html_blob_pkey PRIMARY KEY (html_hash)
);

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

CREATE TABLE image_occurrence_set (
    occurrences_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT image_occurrence_set_pkey PRIMARY KEY (occurrences_hash)
);

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
CREATE INDEX integrity_anomaly_post_id_idx ON integrity_anomaly (post_id);
COMMENT ON TABLE integrity_anomaly IS 'What a reader sent and what the site says differ; it may precede its post, so it refers to none';

CREATE TABLE investigation_input (
    investigation_id uuid NOT NULL,
    provenance text NOT NULL,
    content_hash text NOT NULL,
    markdown_source text NOT NULL,
    markdown text,
    markdown_renderer_version text,
    created_at timestamptz NOT NULL,
    CONSTRAINT investigation_input_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_input_provenance_check CHECK (provenance IN ('SERVER_VERIFIED', 'CLIENT_FALLBACK')),
    CONSTRAINT investigation_input_markdown_source_check CHECK (markdown_source IN ('SERVER_HTML', 'CLIENT_HTML', 'NONE')),
    CONSTRAINT investigation_input_markdown_check CHECK ((markdown_source = 'NONE') = (markdown IS NULL) AND (markdown IS NULL) = (markdown_renderer_version IS NULL))
);

CREATE TABLE parked (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    awaits text NOT NULL,
    CONSTRAINT parked_pkey PRIMARY KEY (stream, sequence)
);
CREATE INDEX parked_awaits_idx ON parked (awaits);
COMMENT ON TABLE parked IS 'Facts that came before what they speak of; their text is in the ledger';

CREATE TABLE position (
    stream text NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT position_pkey PRIMARY KEY (stream)
);
COMMENT ON TABLE position IS 'The last sequence of each stream that these tables hold';

CREATE TABLE prompt (
    hash text NOT NULL,
    version text NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT prompt_pkey PRIMARY KEY (hash),
    CONSTRAINT prompt_version_key UNIQUE (version)
);

CREATE TABLE verification_failure (
    observation_id uuid NOT NULL,
    post_version_id uuid,
    reason text,
    detail text,
    failed_at timestamptz,
    CONSTRAINT verification_failure_pkey PRIMARY KEY (observation_id)
);
CREATE INDEX verification_failure_post_version_id_idx ON verification_failure (post_version_id);
COMMENT ON TABLE verification_failure IS 'Why the site did not confirm an observation, and the version it became; either may be known first';

CREATE TABLE image_occurrence (
    occurrences_hash text NOT NULL,
    original_index integer NOT NULL,
    normalized_text_offset integer NOT NULL,
    source_url text NOT NULL,
    caption_text text,
    CONSTRAINT image_occurrence_pkey PRIMARY KEY (occurrences_hash, original_index),
    CONSTRAINT image_occurrence_occurrences_hash_fkey FOREIGN KEY(occurrences_hash) REFERENCES image_occurrence_set (occurrences_hash) ON DELETE CASCADE
);

CREATE TABLE post (
    id uuid NOT NULL,
    platform text NOT NULL,
    external_id text NOT NULL,
    url text NOT NULL,
    author_id uuid,
    view_count integer NOT NULL,
    unique_view_score integer NOT NULL,
    last_viewed_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT post_pkey PRIMARY KEY (id),
    CONSTRAINT post_platform_external_id_key UNIQUE (platform, external_id),
    CONSTRAINT post_author_id_fkey FOREIGN KEY(author_id) REFERENCES author (id)
)
 WITH (fillfactor = 80);
CREATE INDEX post_author_id_idx ON post (author_id);

CREATE TABLE candidate (
    post_id uuid NOT NULL,
    analysis text NOT NULL,
    post_version_id uuid NOT NULL,
    score integer NOT NULL,
    word_ok boolean NOT NULL,
    status text,
    eligible_at timestamptz,
    CONSTRAINT candidate_pkey PRIMARY KEY (post_id, analysis),
    CONSTRAINT candidate_post_id_fkey FOREIGN KEY(post_id) REFERENCES post (id)
)
 WITH (fillfactor = 80);
CREATE INDEX candidate_next_idx ON candidate (analysis, score DESC, post_id) INCLUDE (post_version_id, status, eligible_at) WHERE word_ok AND eligible_at IS NOT NULL;
COMMENT ON TABLE candidate IS 'What the selector may take: the newest version of each post. `status` NULL: not investigated; `eligible_at` NULL: over (COMPLETE, FAILED)';

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
    CONSTRAINT post_version_pkey PRIMARY KEY (id),
    CONSTRAINT post_version_post_id_version_hash_key UNIQUE (post_id, version_hash),
    CONSTRAINT post_version_post_id_content_hash_occurrences_hash_key UNIQUE (post_id, content_hash, occurrences_hash),
    CONSTRAINT post_version_post_id_fkey FOREIGN KEY(post_id) REFERENCES post (id) ON DELETE CASCADE,
    CONSTRAINT post_version_content_hash_fkey FOREIGN KEY(content_hash) REFERENCES content_blob (content_hash),
    CONSTRAINT post_version_occurrences_hash_fkey FOREIGN KEY(occurrences_hash) REFERENCES image_occurrence_set (occurrences_hash)
)
 WITH (fillfactor = 85);
CREATE INDEX post_version_newest_idx ON post_version (post_id, last_seen_at DESC, id DESC);

CREATE TABLE post_view_credit (
    post_id uuid NOT NULL,
    viewer_key text NOT NULL,
    bucket_day date NOT NULL,
    ip_range_key text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT post_view_credit_pkey PRIMARY KEY (post_id, viewer_key, bucket_day),
    CONSTRAINT post_view_credit_post_id_fkey FOREIGN KEY(post_id) REFERENCES post (id)
);
CREATE INDEX post_view_credit_post_id_bucket_day_ip_range_key_idx ON post_view_credit (post_id, bucket_day, ip_range_key);

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
    CONSTRAINT investigation_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_post_version_id_analysis_key UNIQUE (post_version_id, analysis),
    CONSTRAINT investigation_input_id_key UNIQUE (input_id),
    CONSTRAINT investigation_status_check CHECK (status IN ('PENDING', 'PROCESSING', 'COMPLETE', 'FAILED')),
    CONSTRAINT investigation_input_check CHECK (input_id = id),
    CONSTRAINT investigation_started_check CHECK (num_nonnulls(input_id, prompt_hash, provider, model) IN (0, 4) AND (input_id IS NOT NULL OR status IN ('PENDING', 'FAILED'))),
    CONSTRAINT investigation_checked_at_check CHECK ((checked_at IS NOT NULL) = (status = 'COMPLETE')),
    CONSTRAINT investigation_failed_check CHECK (num_nonnulls(failed_at, failure, failure_reason) = CASE status WHEN 'FAILED' THEN 3 ELSE 0 END),
    CONSTRAINT investigation_parent_check CHECK (parent_investigation_id <> id),
    CONSTRAINT investigation_content_diff_check CHECK ((content_diff IS NOT NULL) = (parent_investigation_id IS NOT NULL)),
    CONSTRAINT investigation_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id),
    CONSTRAINT investigation_input_id_fkey FOREIGN KEY(input_id) REFERENCES investigation_input (investigation_id),
    CONSTRAINT investigation_parent_investigation_id_fkey FOREIGN KEY(parent_investigation_id) REFERENCES investigation (id),
    CONSTRAINT investigation_prompt_hash_fkey FOREIGN KEY(prompt_hash) REFERENCES prompt (hash)
)
 WITH (fillfactor = 70);
CREATE INDEX investigation_parent_investigation_id_idx ON investigation (parent_investigation_id);
CREATE INDEX investigation_status_idx ON investigation (status);
CREATE INDEX investigation_selected_idx ON investigation (analysis, queued_at) WHERE requested_by = 'SELECTOR';

CREATE TABLE lesswrong_version_meta (
    post_version_id uuid NOT NULL,
    slug text NOT NULL,
    title text,
    server_html_hash text,
    client_html_hash text,
    image_urls text[] NOT NULL,
    karma integer,
    author_name text,
    author_slug text,
    tags text[] NOT NULL,
    published_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT lesswrong_version_meta_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT lesswrong_version_meta_html_check CHECK (num_nonnulls(server_html_hash, client_html_hash) > 0),
    CONSTRAINT lesswrong_version_meta_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE,
    CONSTRAINT lesswrong_version_meta_server_html_hash_fkey FOREIGN KEY(server_html_hash) REFERENCES html_blob (html_hash),
    CONSTRAINT lesswrong_version_meta_client_html_hash_fkey FOREIGN KEY(client_html_hash) REFERENCES html_blob (html_hash)
);
CREATE INDEX lesswrong_version_meta_slug_idx ON lesswrong_version_meta (slug);

CREATE TABLE substack_version_meta (
    post_version_id uuid NOT NULL,
    substack_post_id text NOT NULL,
    publication_subdomain text NOT NULL,
    slug text NOT NULL,
    title text NOT NULL,
    subtitle text,
    server_html_hash text,
    client_html_hash text,
    image_urls text[] NOT NULL,
    author_name text NOT NULL,
    author_substack_handle text,
    published_at timestamptz,
    like_count integer,
    comment_count integer,
    created_at timestamptz NOT NULL,
    CONSTRAINT substack_version_meta_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT substack_version_meta_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE,
    CONSTRAINT substack_version_meta_server_html_hash_fkey FOREIGN KEY(server_html_hash) REFERENCES html_blob (html_hash),
    CONSTRAINT substack_version_meta_client_html_hash_fkey FOREIGN KEY(client_html_hash) REFERENCES html_blob (html_hash)
);
CREATE INDEX substack_version_meta_publication_subdomain_slug_idx ON substack_version_meta (publication_subdomain, slug);
CREATE INDEX substack_version_meta_substack_post_id_idx ON substack_version_meta (substack_post_id);

CREATE TABLE version_reporter (
    post_version_id uuid NOT NULL,
    reporter_key text NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT version_reporter_pkey PRIMARY KEY (post_version_id, reporter_key),
    CONSTRAINT version_reporter_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE
);
COMMENT ON TABLE version_reporter IS 'Holders of an instance key who saw a version: half of a corroboration credit';

CREATE TABLE wikipedia_version_meta (
    post_version_id uuid NOT NULL,
    page_id text NOT NULL,
    language text NOT NULL,
    title text NOT NULL,
    display_title text,
    server_html_hash text,
    client_html_hash text,
    revision_id text NOT NULL,
    last_modified_at timestamptz,
    image_urls text[] NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT wikipedia_version_meta_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT wikipedia_version_meta_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE,
    CONSTRAINT wikipedia_version_meta_server_html_hash_fkey FOREIGN KEY(server_html_hash) REFERENCES html_blob (html_hash),
    CONSTRAINT wikipedia_version_meta_client_html_hash_fkey FOREIGN KEY(client_html_hash) REFERENCES html_blob (html_hash)
);
CREATE INDEX wikipedia_version_meta_language_page_id_idx ON wikipedia_version_meta (language, page_id);
CREATE INDEX wikipedia_version_meta_revision_id_idx ON wikipedia_version_meta (revision_id);

CREATE TABLE x_version_meta (
    post_version_id uuid NOT NULL,
    tweet_id text NOT NULL,
    text text NOT NULL,
    author_handle text NOT NULL,
    author_display_name text,
    media_urls text[] NOT NULL,
    like_count integer,
    retweet_count integer,
    posted_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT x_version_meta_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT x_version_meta_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE
);
CREATE INDEX x_version_meta_tweet_id_idx ON x_version_meta (tweet_id);

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
    CONSTRAINT claim_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id)
);

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
    CONSTRAINT claim_candidate_state_check CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED', 'FAILED')),
    CONSTRAINT claim_candidate_decided_check CHECK ((state = 'PENDING') = (decided_at IS NULL)),
    CONSTRAINT claim_candidate_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
)
 WITH (fillfactor = 70);
CREATE INDEX claim_candidate_investigation_id_idx ON claim_candidate (investigation_id);
COMMENT ON TABLE claim_candidate IS 'Progress: what the model submitted and what became of it. `attempt` NULL: kept from an earlier version';

CREATE TABLE corroboration_credit (
    investigation_id uuid NOT NULL,
    reporter_key text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT corroboration_credit_pkey PRIMARY KEY (investigation_id, reporter_key),
    CONSTRAINT corroboration_credit_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id)
);

CREATE TABLE investigation_attempt (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    attempt_number integer NOT NULL,
    outcome text,
    request_model text NOT NULL,
    request_instructions text NOT NULL,
    request_input text NOT NULL,
    request_reasoning_effort text,
    request_reasoning_summary text,
    response_id text,
    response_status text,
    response_model_version text,
    response_output_text text,
    transcript_hash text,
    started_at timestamptz NOT NULL,
    completed_at timestamptz,
    CONSTRAINT investigation_attempt_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_investigation_id_attempt_number_key UNIQUE (investigation_id, attempt_number),
    CONSTRAINT investigation_attempt_outcome_check CHECK (outcome IN ('SUCCEEDED', 'FAILED')),
    CONSTRAINT investigation_attempt_completed_check CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT investigation_attempt_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
)
 WITH (fillfactor = 80);
CREATE INDEX investigation_attempt_investigation_id_started_at_idx ON investigation_attempt (investigation_id, started_at);
COMMENT ON TABLE investigation_attempt IS '`request_instructions` is the hash of the prompt and `request_input` that of the content: both texts are stored once, in prompt and content_blob';

CREATE TABLE investigation_doc (
    investigation_id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    analysis text NOT NULL,
    provenance text NOT NULL,
    checked_at timestamptz NOT NULL,
    claim_count integer NOT NULL,
    claims jsonb NOT NULL,
    CONSTRAINT investigation_doc_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_doc_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id),
    CONSTRAINT investigation_doc_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id)
);
CREATE UNIQUE INDEX investigation_doc_version_idx ON investigation_doc (post_version_id, analysis) INCLUDE (claim_count, investigation_id);
COMMENT ON TABLE investigation_doc IS 'One row for each COMPLETE investigation, ready to send; never changes. `claims`: [{id, text, context, summary, reasoning, sources: [{url, title, snippet}]}]';

CREATE TABLE investigation_image (
    investigation_id uuid NOT NULL,
    content_hash text NOT NULL,
    image_order integer NOT NULL,
    CONSTRAINT investigation_image_pkey PRIMARY KEY (investigation_id, content_hash),
    CONSTRAINT investigation_image_investigation_id_image_order_key UNIQUE (investigation_id, image_order),
    CONSTRAINT investigation_image_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE,
    CONSTRAINT investigation_image_content_hash_fkey FOREIGN KEY(content_hash) REFERENCES image_blob (content_hash) ON DELETE CASCADE
);
CREATE INDEX investigation_image_content_hash_idx ON investigation_image (content_hash);

CREATE TABLE investigation_lease (
    investigation_id uuid NOT NULL,
    lease_owner text NOT NULL,
    attempt integer NOT NULL,
    started_at timestamptz NOT NULL,
    CONSTRAINT investigation_lease_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT investigation_lease_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
);

CREATE TABLE post_prior (
    post_id uuid NOT NULL,
    analysis text NOT NULL,
    investigation_id uuid NOT NULL,
    post_version_id uuid NOT NULL,
    checked_at timestamptz NOT NULL,
    CONSTRAINT post_prior_pkey PRIMARY KEY (post_id, analysis),
    CONSTRAINT post_prior_post_id_fkey FOREIGN KEY(post_id) REFERENCES post (id),
    CONSTRAINT post_prior_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id)
);
COMMENT ON TABLE post_prior IS 'The newest COMPLETE investigation of a post whose input was SERVER_VERIFIED';

CREATE TABLE investigation_attempt_error (
    attempt_id uuid NOT NULL,
    error_name text NOT NULL,
    error_message text NOT NULL,
    status_code integer,
    created_at timestamptz NOT NULL,
    CONSTRAINT investigation_attempt_error_pkey PRIMARY KEY (attempt_id),
    CONSTRAINT investigation_attempt_error_attempt_id_fkey FOREIGN KEY(attempt_id) REFERENCES investigation_attempt (id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_output_item (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    output_index integer NOT NULL,
    provider_item_id text,
    item_type text NOT NULL,
    item_status text,
    CONSTRAINT investigation_attempt_output_item_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_output_item_attempt_id_output_index_key UNIQUE (attempt_id, output_index),
    CONSTRAINT investigation_attempt_output_item_attempt_id_fkey FOREIGN KEY(attempt_id) REFERENCES investigation_attempt (id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_requested_tool (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    request_order integer NOT NULL,
    tool_type text NOT NULL,
    raw_definition jsonb NOT NULL,
    CONSTRAINT investigation_attempt_requested_tool_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_requested_tool_attempt_id_request_2e71 UNIQUE (attempt_id, request_order),
    CONSTRAINT investigation_attempt_requested_tool_attempt_id_fkey FOREIGN KEY(attempt_id) REFERENCES investigation_attempt (id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_usage (
    attempt_id uuid NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    total_tokens integer NOT NULL,
    cached_input_tokens integer,
    reasoning_output_tokens integer,
    created_at timestamptz NOT NULL,
    CONSTRAINT investigation_attempt_usage_pkey PRIMARY KEY (attempt_id),
    CONSTRAINT investigation_attempt_usage_attempt_id_fkey FOREIGN KEY(attempt_id) REFERENCES investigation_attempt (id) ON DELETE CASCADE
);

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
    CONSTRAINT source_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim (id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_reasoning_summary (
    id uuid NOT NULL,
    output_item_id uuid NOT NULL,
    summary_index integer NOT NULL,
    text text NOT NULL,
    CONSTRAINT investigation_attempt_reasoning_summary_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_reasoning_summary_output_item_id__0ba6 UNIQUE (output_item_id, summary_index),
    CONSTRAINT investigation_attempt_reasoning_summary_output_item_id_fkey FOREIGN KEY(output_item_id) REFERENCES investigation_attempt_output_item (id) ON DELETE CASCADE
);

CREATE TABLE investigation_attempt_text_part (
    id uuid NOT NULL,
    output_item_id uuid NOT NULL,
    part_index integer NOT NULL,
    part_type text NOT NULL,
    text text NOT NULL,
    CONSTRAINT investigation_attempt_text_part_pkey PRIMARY KEY (id),
    CONSTRAINT investigation_attempt_text_part_output_item_id_part_index_key UNIQUE (output_item_id, part_index),
    CONSTRAINT investigation_attempt_text_part_output_item_id_fkey FOREIGN KEY(output_item_id) REFERENCES investigation_attempt_output_item (id) ON DELETE CASCADE
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
    CONSTRAINT investigation_attempt_tool_call_attempt_id_fkey FOREIGN KEY(attempt_id) REFERENCES investigation_attempt (id) ON DELETE CASCADE,
    CONSTRAINT investigation_attempt_tool_call_output_item_id_fkey FOREIGN KEY(output_item_id) REFERENCES investigation_attempt_output_item (id) ON DELETE CASCADE
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
    CONSTRAINT investigation_attempt_annotation_text_part_id_fkey FOREIGN KEY(text_part_id) REFERENCES investigation_attempt_text_part (id) ON DELETE CASCADE
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows never change', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER immutable BEFORE UPDATE ON content_blob FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON html_blob FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON image_occurrence FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON x_version_meta FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON prompt FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_input FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_doc FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON claim FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON source FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A version keeps its content, and is verified once.
CREATE TRIGGER content_is_fixed BEFORE UPDATE ON post_version FOR EACH ROW
    WHEN ((old.id, old.post_id, old.version_hash, old.content_hash, old.occurrences_hash, old.first_seen_at,
            old.correlation)
        IS DISTINCT FROM
        (new.id, new.post_id, new.version_hash, new.content_hash, new.occurrences_hash, new.first_seen_at,
            new.correlation))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER verified_once BEFORE UPDATE ON post_version FOR EACH ROW
    WHEN (old.server_verified_at IS NOT NULL AND new.server_verified_at IS DISTINCT FROM old.server_verified_at)
    EXECUTE FUNCTION refuse_change();

-- The first HTML of a reader stays; the site's own may be replaced but not removed.
CREATE TRIGGER html_stays BEFORE UPDATE ON lesswrong_version_meta FOR EACH ROW
    WHEN ((old.post_version_id, old.created_at) IS DISTINCT FROM (new.post_version_id, new.created_at)
        OR (old.client_html_hash IS NOT NULL AND new.client_html_hash IS DISTINCT FROM old.client_html_hash)
        OR (old.server_html_hash IS NOT NULL AND new.server_html_hash IS NULL))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER html_stays BEFORE UPDATE ON substack_version_meta FOR EACH ROW
    WHEN ((old.post_version_id, old.created_at) IS DISTINCT FROM (new.post_version_id, new.created_at)
        OR (old.client_html_hash IS NOT NULL AND new.client_html_hash IS DISTINCT FROM old.client_html_hash)
        OR (old.server_html_hash IS NOT NULL AND new.server_html_hash IS NULL))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER html_stays BEFORE UPDATE ON wikipedia_version_meta FOR EACH ROW
    WHEN ((old.post_version_id, old.created_at) IS DISTINCT FROM (new.post_version_id, new.created_at)
        OR (old.client_html_hash IS NOT NULL AND new.client_html_hash IS DISTINCT FROM old.client_html_hash)
        OR (old.server_html_hash IS NOT NULL AND new.server_html_hash IS NULL))
    EXECUTE FUNCTION refuse_change();

-- Verified means that the site's page is kept: looked at when the transaction ends, since version and page come together.
CREATE FUNCTION require_server_html() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_platform text := (SELECT platform FROM post WHERE id = new.post_id);
    kept boolean := true;
BEGIN
    CASE of_platform
        WHEN 'LESSWRONG' THEN
            kept := EXISTS (SELECT FROM lesswrong_version_meta
                WHERE post_version_id = new.id AND server_html_hash IS NOT NULL);
        WHEN 'SUBSTACK' THEN
            kept := EXISTS (SELECT FROM substack_version_meta
                WHERE post_version_id = new.id AND server_html_hash IS NOT NULL);
        WHEN 'WIKIPEDIA' THEN
            kept := EXISTS (SELECT FROM wikipedia_version_meta
                WHERE post_version_id = new.id AND server_html_hash IS NOT NULL);
        ELSE NULL;
    END CASE;
    IF NOT kept THEN
        RAISE EXCEPTION 'version % is verified but the page of its site is not kept', new.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER verified_has_html_new AFTER INSERT ON post_version
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.server_verified_at IS NOT NULL)
    EXECUTE FUNCTION require_server_html();
CREATE CONSTRAINT TRIGGER verified_has_html_later AFTER UPDATE ON post_version
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.server_verified_at IS NULL AND new.server_verified_at IS NOT NULL)
    EXECUTE FUNCTION require_server_html();

-- A completed investigation is final; others may lean on it as parent, and readers may keep it.
CREATE TRIGGER complete_is_final BEFORE UPDATE ON investigation FOR EACH ROW
    WHEN (old.status = 'COMPLETE' AND new.* IS DISTINCT FROM old.*)
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER version_is_fixed BEFORE UPDATE ON investigation FOR EACH ROW
    WHEN ((old.id, old.post_version_id, old.analysis) IS DISTINCT FROM (new.id, new.post_version_id, new.analysis))
    EXECUTE FUNCTION refuse_change();

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
CREATE CONSTRAINT TRIGGER parent_is_verified AFTER INSERT OR UPDATE OF parent_investigation_id ON investigation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.parent_investigation_id IS NOT NULL)
    EXECUTE FUNCTION require_verified_parent();

-- Somebody works on an investigation exactly while it is PROCESSING.
CREATE FUNCTION require_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject uuid;
BEGIN
    IF TG_TABLE_NAME = 'investigation' THEN
        subject := new.id;
    ELSE
        subject := coalesce(new.investigation_id, old.investigation_id);
    END IF;
    IF EXISTS (SELECT FROM investigation WHERE id = subject AND status = 'PROCESSING')
        <> EXISTS (SELECT FROM investigation_lease WHERE investigation_id = subject)
    THEN
        RAISE EXCEPTION 'investigation % must have a lease exactly while it is PROCESSING', subject
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER leased_new AFTER INSERT ON investigation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.status = 'PROCESSING') EXECUTE FUNCTION require_lease();
CREATE CONSTRAINT TRIGGER leased_later AFTER UPDATE ON investigation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status)
    EXECUTE FUNCTION require_lease();
CREATE CONSTRAINT TRIGGER leased AFTER INSERT OR DELETE ON investigation_lease
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_lease();

DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO errata_reader, errata_projector, errata_operator', current_schema());
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO errata_reader, errata_operator', current_schema());
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO errata_projector', current_schema());
END $$;
