CREATE TABLE review_sample (
    id UUID NOT NULL,
    seed TEXT NOT NULL,
    first_day DATE NOT NULL,
    last_day DATE NOT NULL,
    size INTEGER NOT NULL,
    drawn_from INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    drawn_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT review_sample_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE review_sample IS 'Findings that were drawn for review; `drawn` of `drawn_from`. Those that are not in `review_sample_claim` have been erased';

CREATE TABLE review_sample_claim (
    sample_id UUID NOT NULL,
    claim_id UUID NOT NULL,
    place INTEGER NOT NULL,
    CONSTRAINT review_sample_claim_pkey PRIMARY KEY (sample_id, claim_id),
    CONSTRAINT review_sample_claim_sample_id_fkey FOREIGN KEY(sample_id) REFERENCES review_sample (id),
    CONSTRAINT review_sample_claim_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim (id) ON DELETE CASCADE
);
CREATE INDEX review_sample_claim_claim_id_idx ON review_sample_claim (claim_id);
COMMENT ON TABLE review_sample_claim IS 'A finding of a sample; `place` is by its hash, from 0';

CREATE TABLE review (
    claim_id UUID NOT NULL,
    reviewer TEXT NOT NULL,
    sample_id UUID NOT NULL,
    verdict TEXT NOT NULL,
    decided_on DATE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT review_pkey PRIMARY KEY (claim_id, reviewer),
    CONSTRAINT review_verdict_check CHECK (verdict IN ('RIGHT', 'PARTLY', 'WRONG')),
    CONSTRAINT review_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim (id) ON DELETE CASCADE,
    CONSTRAINT review_sample_id_fkey FOREIGN KEY(sample_id) REFERENCES review_sample (id)
)
 WITH (fillfactor = 80);
COMMENT ON TABLE review IS 'What a reviewer from outside said last of a finding; `sequence` is that of the event';

GRANT SELECT ON review_sample, review_sample_claim, review TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON review_sample, review_sample_claim, review TO errata_projector;

-- What gates refused in the last 30 days is read from the index alone.
CREATE INDEX claim_review_rejected_idx ON claim_review (decided_at, gate) WHERE outcome = 'REJECTED';
