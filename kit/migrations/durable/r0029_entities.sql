CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND old.erased_by IS NULL AND new.erased_by IS NOT NULL AND new.envelope = ''::bytea
        AND old.subject NOT LIKE 'errata.v1.erasure.%'
        AND old.subject NOT LIKE 'errata.v1.entity_erasure.%'
        AND (old.stream, old.sequence, old.event_id, old.subject, old.previous_hash, old.hash, old.stored_at)
            IS NOT DISTINCT FROM
            (new.stream, new.sequence, new.event_id, new.subject, new.previous_hash, new.hash, new.stored_at)
        AND EXISTS (SELECT FROM ledger.fact WHERE event_id = new.erased_by AND stream = old.stream
            AND (subject LIKE 'errata.v1.erasure.ordered.%' OR subject LIKE 'errata.v1.entity_erasure.ordered.%'))
    THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'ledger.fact is only ever appended to' USING ERRCODE = 'restrict_violation';
END $$;
