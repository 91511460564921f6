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
    CONSTRAINT source_check_status_check CHECK (status IN ('found', 'missing', 'unavailable', 'unchecked')),
    CONSTRAINT source_check_page_check CHECK (num_nonnulls(final_url, page_hash, size_bytes, media_type, fetched_at) IN (0, 5)),
    CONSTRAINT source_check_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim_candidate (claim_id) ON DELETE CASCADE
);
CREATE INDEX source_check_page_hash_idx ON source_check (page_hash);
COMMENT ON TABLE source_check IS 'What became of each source of a candidate, one set a round, in the order of its payload; the page''s bytes as they came lie in the blob store under sha256/<page_hash>';

CREATE TRIGGER immutable BEFORE UPDATE ON source_check FOR EACH ROW EXECUTE FUNCTION refuse_change();

GRANT SELECT ON source_check TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON source_check TO errata_projector;
