"""The public record over GraphQL, read-only."""
