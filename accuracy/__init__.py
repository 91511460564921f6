"""How often the system is wrong, as far as samples show, and what follows from that. Pure."""
