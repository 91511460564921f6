"""The audit of an investigation: what it reads, and what of that anybody may see."""
