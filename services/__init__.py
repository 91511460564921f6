"""One package per service; services know each other only by the facts that they publish."""
