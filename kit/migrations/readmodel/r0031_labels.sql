CREATE TABLE label (
    id UUID NOT NULL,
    uri TEXT NOT NULL,
    cid TEXT NOT NULL,
    val TEXT NOT NULL,
    neg BOOLEAN NOT NULL,
    cts TIMESTAMP WITH TIME ZONE NOT NULL,
    exp TIMESTAMP WITH TIME ZONE NOT NULL,
    post_id UUID NOT NULL,
    investigation_id UUID NOT NULL,
    why TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT label_pkey PRIMARY KEY (id),
    CONSTRAINT label_why_check
        CHECK (why IN ('PUBLISHED', 'RENEWED', 'WITHDRAWN', 'REPLACED', 'FORGOTTEN', 'NOT_PUBLIC'))
)
 WITH (fillfactor = 80);
CREATE INDEX label_sequence_idx ON label (sequence);
CREATE INDEX label_uri_idx ON label (uri text_pattern_ops);
COMMENT ON TABLE label IS 'A value on a pinned record. `sequence` is that of the newest event; `neg`: the label was taken back';
GRANT SELECT ON label TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON label TO errata_projector;

ALTER TABLE verification_failure ADD COLUMN post_id uuid;
CREATE INDEX verification_failure_post_id_idx ON verification_failure (post_id);

-- The curator decides about labels by the public record, whose words it does not see.
DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO errata_curator', current_schema());
END $$;
GRANT SELECT ON label, position, forgotten TO errata_curator;
GRANT SELECT (id, post_id, last_seen_at, server_verified_at) ON post_version TO errata_curator;
GRANT SELECT (post_version_id, document) ON version_metadata TO errata_curator;
GRANT SELECT (id, provider) ON investigation TO errata_curator;
GRANT SELECT (investigation_id, post_version_id, analysis, provenance, checked_at, claim_count)
    ON investigation_doc TO errata_curator;
GRANT SELECT (post_id, reason, failed_at) ON verification_failure TO errata_curator;
