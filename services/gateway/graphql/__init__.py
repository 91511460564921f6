"""The public record for everybody: one read-only GraphQL endpoint over what the read model holds."""
