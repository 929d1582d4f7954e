"""Nothing: what it costs to start and to end."""
