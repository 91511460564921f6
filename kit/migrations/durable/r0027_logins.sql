-- Roles and functions belong to the whole server or need its administrator: what the owner may not change was set by
-- deploy/roles.sql, which an administrator ran. Another database may be changing the same roles at this moment.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['errata_reader', 'errata_projector', 'errata_operator'] LOOP
        FOR attempt IN 1..20 LOOP
            BEGIN
                IF NOT (SELECT rolcanlogin FROM pg_roles WHERE rolname = name) THEN
                    EXECUTE format('ALTER ROLE %I LOGIN', name);
                END IF;
                EXIT;
            EXCEPTION
                WHEN insufficient_privilege THEN
                    EXIT;
                WHEN internal_error THEN
                    IF attempt = 20 THEN
                        RAISE;
                    END IF;
            END;
        END LOOP;
    END LOOP;
END $$;

DO $$
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;

DO $$
BEGIN
    REVOKE EXECUTE ON FUNCTION
        pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;
EXCEPTION WHEN insufficient_privilege OR internal_error THEN
    NULL;
END $$;

GRANT SELECT ON ledger.alembic_version TO errata_reader, errata_projector, errata_operator;
