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

ALTER TABLE operator.instance_api_key
    ADD COLUMN account_id uuid,
    ADD COLUMN rights text[] NOT NULL DEFAULT '{investigate,corroborate}',
    ADD CONSTRAINT instance_api_key_account_id_fkey
        FOREIGN KEY (account_id) REFERENCES operator.account ON DELETE CASCADE,
    ADD CONSTRAINT instance_api_key_rights_check
        CHECK (cardinality(rights) > 0 AND rights <@ ARRAY['investigate', 'corroborate', 'audit']),
    ADD CONSTRAINT instance_api_key_account_check CHECK (account_id IS NOT NULL OR NOT 'audit' = ANY (rights));
CREATE INDEX instance_api_key_account_id_idx ON operator.instance_api_key (account_id);

-- Readers serve requests: they need no name, no mail address and no sealed secret.
GRANT SELECT (id, role, tier, credit_limit_micro_usd, has_webhook_secret, closed_at)
    ON operator.account TO errata_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator.account TO errata_operator;
