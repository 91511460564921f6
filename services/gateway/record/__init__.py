"""The public record: every SQL statement that reads it, and typed rows."""
