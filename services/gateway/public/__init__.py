"""The public record: the site, GraphQL, the event stream, the audit and the older `public.*` procedures."""
