"""Our reading of HTML against a real browser's."""
