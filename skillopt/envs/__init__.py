"""Benchmarks: one module or folder each, declared as `ENVIRONMENT`."""
