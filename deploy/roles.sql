-- For a database whose administrator does not let the application create roles: run this once as administrator, with
--   psql -v login=openerrata -f deploy/roles.sql openerrata
-- in the database of the application. Otherwise the first migration makes the same roles by itself.
SELECT format('CREATE ROLE %I NOLOGIN', name)
FROM unnest(ARRAY['errata_reader', 'errata_projector', 'errata_operator']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
GRANT errata_reader, errata_projector, errata_operator TO :"login";
GRANT CREATE ON DATABASE :"DBNAME" TO :"login";
