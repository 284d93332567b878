"""Where programs run that a model wrote: an own process tree, one writable folder, limits, no network.

`program` is for callers. The other modules run in a process of their own, without third-party packages.
"""
