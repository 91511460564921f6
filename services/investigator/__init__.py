"""Runs the model over a version, and concludes when every candidate has a verdict."""
