"""Train a skill document for a frozen language-model agent, behind a held-out gate."""

__version__ = "0.1.0"
