"""The extension's protocol and the public record: publishes events and reads the read model."""
