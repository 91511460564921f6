"""A web search of our own, for providers that have none: one tool over one of several engines."""
