-- Roles belong to the whole server, so another database may be creating or granting them at this moment.
DO $$
BEGIN
    FOR attempt IN 1..20 LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'errata_curator') THEN
                CREATE ROLE errata_curator LOGIN;
            END IF;
            IF NOT pg_has_role(current_user, 'errata_curator', 'SET') THEN
                GRANT errata_curator TO CURRENT_USER;
            END IF;
            EXIT;
        EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
            IF attempt = 20 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA ledger, operator TO errata_curator;
GRANT SELECT ON ledger.alembic_version TO errata_curator;
GRANT SELECT (id, webhook_secrets, closed_at) ON operator.account TO errata_curator;
