"""The extension's protocol and the public JSON: publishes facts, reads the read model, computes nothing."""
