"""Commands for people, not phases of the loop."""
