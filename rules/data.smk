"""The real data of published benchmarks, from their public sources.

INPUT   a split manifest: `--config manifests=FOLDER` (default original/data) holds <manifest>/{train,val,test}/
        and the data set: from the hub, or `--config source=FOLDER` with its files
OUTPUT  data/paper/<benchmark>/{train,val,test}/items.json, split_manifest.json

Not part of a run's DAG, whose size follows from the data: fetched once, before a run is planned.
"""


rule materialise:
    """Fetch the items of {wildcards.benchmark} that its split manifest names."""
    input:
        manifest=manifest_files,
    output:
        train="data/paper/{benchmark}/train/items.json",
        val="data/paper/{benchmark}/val/items.json",
        test="data/paper/{benchmark}/test/items.json",
        record="data/paper/{benchmark}/split_manifest.json",
    log:
        "data/paper/{benchmark}/materialise.log",
    wildcard_constraints:
        benchmark="|".join(SOURCES),
    localrule: True
    params:
        manifest=manifest_folder,
        # Of `input` so that it is not tracked: where the same files are read from decides nothing.
        source=lambda wildcards, input: local_source(),
    shell:
        "skillopt materialise {wildcards.benchmark} --manifest {params.manifest:q} {params.source:q}"
        " --out data/paper/{wildcards.benchmark} --log {log:q}"
