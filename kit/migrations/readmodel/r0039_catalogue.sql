-- The catalogue: claims with a page, every change of one, and objections. Written from the stream JOBS alone.

CREATE TABLE entry (
    id UUID NOT NULL,
    assertion_id UUID NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    edit_count INTEGER NOT NULL,
    wording TEXT NOT NULL,
    domain TEXT NOT NULL,
    summary TEXT,
    published_wording TEXT NOT NULL,
    published_domain TEXT NOT NULL,
    words_until TIMESTAMP WITH TIME ZONE,
    reworded BOOLEAN NOT NULL,
    stale TEXT[] NOT NULL,
    created_by UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    staled_sequence BIGINT NOT NULL,
    renewed_sequence BIGINT NOT NULL,
    analysis_id UUID,
    confidence_score INTEGER,
    completeness_score INTEGER,
    evidence_summary JSONB,
    source_names TEXT[],
    scenario_summary JSONB,
    scenario_count INTEGER,
    cache_updated_at TIMESTAMP WITH TIME ZONE,
    searched TSVECTOR GENERATED ALWAYS AS (to_tsvector('simple', wording || ' ' || domain || ' ' || coalesce(summary, '')) || jsonb_to_tsvector('simple', coalesce(evidence_summary, '[]'), '["string"]') || jsonb_to_tsvector('simple', coalesce(scenario_summary, '[]'), '["string"]')) STORED,
    CONSTRAINT entry_pkey PRIMARY KEY (id),
    CONSTRAINT entry_status_check CHECK (status IN ('PUBLISHED', 'HIDDEN')),
    CONSTRAINT entry_edit_count_check CHECK (edit_count = version - 1),
    CONSTRAINT entry_scores_check CHECK (confidence_score BETWEEN 0 AND 100 AND completeness_score BETWEEN 0 AND 100),
    CONSTRAINT entry_assertion_id_fkey FOREIGN KEY(assertion_id) REFERENCES assertion (id) ON DELETE CASCADE
)
 WITH (fillfactor = 70);
CREATE INDEX entry_analysis_idx ON entry (analysis_id);
CREATE UNIQUE INDEX entry_assertion_id_idx ON entry (assertion_id);
CREATE INDEX entry_newest_idx ON entry (updated_at DESC, id);
CREATE INDEX entry_searched_idx ON entry USING gin (searched);
CREATE INDEX entry_words_idx ON entry (words_until) WHERE words_until IS NOT NULL;
COMMENT ON TABLE entry IS 'A claim with a page, as its newest edit left it. Summaries and scores are of the newest analysis of its assertion, `analysis_id`, and change with it; `cache_updated_at` is when that was made';

CREATE TABLE edit (
    id UUID NOT NULL,
    entry_id UUID NOT NULL,
    version INTEGER NOT NULL,
    edit_type TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    entity_id UUID NOT NULL,
    fields TEXT[] NOT NULL,
    hidden BOOLEAN NOT NULL,
    made_by UUID,
    reason TEXT,
    before_state JSONB,
    after_state JSONB,
    kept_until TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT edit_pkey PRIMARY KEY (id),
    CONSTRAINT edit_edit_type_check CHECK (edit_type IN ('CONTENT_CORRECTION', 'CLARIFICATION', 'SYSTEM_REANALYSIS', 'MODERATION_ACTION', 'REVERT')),
    CONSTRAINT edit_words_check CHECK ((reason IS NULL) = (kept_until IS NULL) AND (before_state IS NULL) = (kept_until IS NULL) AND (after_state IS NULL) = (kept_until IS NULL)),
    CONSTRAINT edit_entry_id_fkey FOREIGN KEY(entry_id) REFERENCES entry (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX edit_entry_id_version_idx ON edit (entry_id, version);
CREATE INDEX edit_kept_until_idx ON edit (kept_until);
COMMENT ON TABLE edit IS 'A change of an entry; its words while they are kept. `made_by` NULL: the system';

CREATE TABLE flag (
    id UUID NOT NULL,
    entity_type TEXT NOT NULL,
    entity_id UUID,
    issue_type TEXT NOT NULL,
    account_id UUID,
    description TEXT,
    kept_until TIMESTAMP WITH TIME ZONE,
    status TEXT NOT NULL,
    resolved_by UUID,
    note TEXT,
    note_until TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT flag_pkey PRIMARY KEY (id),
    CONSTRAINT flag_status_check CHECK (status IN ('OPEN', 'ACCEPTED', 'DISMISSED')),
    CONSTRAINT flag_resolved_check CHECK ((status = 'OPEN') = (resolved_at IS NULL)),
    CONSTRAINT flag_words_check CHECK ((description IS NULL) = (kept_until IS NULL)),
    CONSTRAINT flag_note_check CHECK ((note IS NULL) = (note_until IS NULL))
);
CREATE INDEX flag_account_id_idx ON flag (account_id);
CREATE INDEX flag_entity_id_idx ON flag (entity_id);
CREATE INDEX flag_kept_until_idx ON flag (kept_until);
CREATE INDEX flag_note_until_idx ON flag (note_until);
CREATE INDEX flag_open_idx ON flag (created_at, id) WHERE status = 'OPEN';
COMMENT ON TABLE flag IS 'An objection and what was decided. The words of one that is not about an entry are in no table';

GRANT SELECT ON entry, edit, flag TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON entry, edit, flag TO errata_projector;
