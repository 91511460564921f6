"""How any service runs; the only place that talks to NATS, S3, model providers and the clock."""
