-- Creates the logins of services. Run as administrator in the application's database, once and to change a password:
--   psql -v login=openerrata -v reader=… -v projector=… -v operator=… -v curator=… \
--     -v notary=… -f deploy/roles.sql openerrata
-- `login` is the owner, who migrates and runs the operator's commands. The others are passwords; in PostgreSQL's
-- container they come from the environment. A role without a password can log in only if the server asks for none.
\if :{?login}
\else
    \getenv login POSTGRES_USER
    \getenv reader ERRATA_READER_PASSWORD
    \getenv projector ERRATA_PROJECTOR_PASSWORD
    \getenv operator ERRATA_OPERATOR_PASSWORD
    \getenv curator ERRATA_CURATOR_PASSWORD
    \getenv notary ERRATA_NOTARY_PASSWORD
\endif
SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['errata_reader', 'errata_projector', 'errata_operator', 'errata_curator', 'errata_notary']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE errata_reader LOGIN;
ALTER ROLE errata_projector LOGIN;
ALTER ROLE errata_operator LOGIN;
ALTER ROLE errata_curator LOGIN;
ALTER ROLE errata_notary LOGIN;
\if :{?reader}
    ALTER ROLE errata_reader PASSWORD :'reader';
\endif
\if :{?projector}
    ALTER ROLE errata_projector PASSWORD :'projector';
\endif
\if :{?operator}
    ALTER ROLE errata_operator PASSWORD :'operator';
\endif
\if :{?curator}
    ALTER ROLE errata_curator PASSWORD :'curator';
\endif
\if :{?notary}
    ALTER ROLE errata_notary PASSWORD :'notary';
\endif
GRANT errata_reader, errata_projector, errata_operator, errata_curator, errata_notary TO :"login";
GRANT CREATE, TEMPORARY ON DATABASE :"DBNAME" TO :"login";
-- Allow nothing beyond the grants of the migrations: no temporary tables, tables in `public` or large objects.
REVOKE TEMPORARY ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT TEMPORARY ON DATABASE :"DBNAME" TO errata_projector;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
