"""The configuration of a run: typed settings, layers, checks, and what each phase depends on."""
