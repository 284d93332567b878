"""The call layer: backends, the call store, retries, accounting."""
