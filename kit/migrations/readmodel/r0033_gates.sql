ALTER TABLE claim_review ADD COLUMN gates jsonb NOT NULL DEFAULT '[]';
