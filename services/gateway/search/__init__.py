"""Finding what the public record says about anything: newest first, or best first, always by an index."""
