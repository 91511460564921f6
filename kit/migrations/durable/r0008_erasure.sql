ALTER TABLE ledger.fact ADD COLUMN erased_by uuid;
COMMENT ON COLUMN ledger.fact.erased_by IS
    'The event of the erasure that took the body; hash and place stay, so the chain can still be proved';

CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND old.erased_by IS NULL AND new.erased_by IS NOT NULL AND new.envelope = ''::bytea
        AND old.subject NOT LIKE 'errata.v1.erasure.%'
        AND (old.stream, old.sequence, old.event_id, old.subject, old.previous_hash, old.hash, old.stored_at)
            IS NOT DISTINCT FROM
            (new.stream, new.sequence, new.event_id, new.subject, new.previous_hash, new.hash, new.stored_at)
        AND EXISTS (SELECT FROM ledger.fact
            WHERE event_id = new.erased_by AND subject LIKE 'errata.v1.erasure.ordered.%')
    THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'ledger.fact is only ever appended to' USING ERRCODE = 'restrict_violation';
END $$;

DROP TRIGGER append_only ON ledger.fact;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.fact
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger.fact
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
