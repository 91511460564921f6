CREATE TABLE investigation_picture (
    investigation_id uuid NOT NULL,
    original_index integer NOT NULL,
    source_url text NOT NULL,
    fate text NOT NULL,
    content_hash text,
    same_as integer,
    reason text,
    CONSTRAINT investigation_picture_pkey PRIMARY KEY (investigation_id, original_index),
    CONSTRAINT investigation_picture_fate_check CHECK (fate IN ('used', 'duplicate', 'omitted', 'unavailable')),
    CONSTRAINT investigation_picture_content_hash_check CHECK ((content_hash IS NOT NULL) = (fate = 'used')),
    CONSTRAINT investigation_picture_same_as_check CHECK ((same_as IS NOT NULL) = (fate = 'duplicate')),
    CONSTRAINT investigation_picture_reason_check CHECK ((reason IS NOT NULL) = (fate IN ('omitted', 'unavailable'))),
    CONSTRAINT investigation_picture_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
);
COMMENT ON TABLE investigation_picture IS 'What became of every picture of the post when the input was frozen; `reason`: why it was not shown';

CREATE TRIGGER immutable BEFORE UPDATE ON investigation_picture FOR EACH ROW EXECUTE FUNCTION refuse_change();

GRANT SELECT ON investigation_picture TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON investigation_picture TO errata_projector;
