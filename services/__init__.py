"""One folder a service; they know each other only by the facts they publish."""
