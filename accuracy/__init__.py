"""How often the system is wrong, as far as that can be known. Pure."""
