"""All contracts between parts: events, procedures, topology and the read model's tables. Nothing here does I/O."""
