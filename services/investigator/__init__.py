"""Runs the model over a version, and concludes once every candidate has a verdict."""
