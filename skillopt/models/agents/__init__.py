"""Command-line agents: run in a folder of their own, with nothing of this process but what they need."""
