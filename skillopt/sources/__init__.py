"""The real data of the published benchmarks: split manifests, their sources, and putting both together."""
