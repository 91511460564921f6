-- An attempt is told of while it goes on, each time with all that it has used so far.
DROP TRIGGER immutable ON expense;
CREATE TRIGGER growing BEFORE UPDATE ON expense FOR EACH ROW
    WHEN (NEW.total_tokens < OLD.total_tokens
        OR (NEW.id, NEW.investigation_id, NEW.round, NEW.stage)
            IS DISTINCT FROM (OLD.id, OLD.investigation_id, OLD.round, OLD.stage))
    EXECUTE FUNCTION refuse_change();
