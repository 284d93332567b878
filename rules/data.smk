"""The real data of published benchmarks, from their public sources.

INPUT   a split manifest: `--config manifests=FOLDER` (default original/data) holds <manifest>/{train,val,test}/
        and the data set: from the hub, or `--config source=FOLDER` with its files
OUTPUT  data/paper/<benchmark>/{train,val,test}/items.json, split_manifest.json

Not part of a run's DAG, whose size follows from the data: fetched once, before a run is planned.
"""

# No param: where the same files are read from decides nothing.
LOCAL_SOURCE = (
    f"--source {shlex.quote(str(config['source']))}" if "source" in config else ""
)


def manifest_folder(wildcards):
    """Return the folder of a benchmark's split manifest."""
    manifest = SOURCES[wildcards.benchmark].manifest
    return str(Path(config.get("manifests", MANIFESTS), manifest))


def manifest_files(wildcards):
    """Return the files of a benchmark's split manifest."""
    folder = Path(manifest_folder(wildcards))
    if not folder.is_dir():
        raise WorkflowError(missing_manifest(wildcards.benchmark, folder))
    return [str(folder / split / "items.json") for split in ("train", "val", "test")]


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
    shell:
        "skillopt materialise {wildcards.benchmark} --manifest {params.manifest:q} {LOCAL_SOURCE}"
        " --out data/paper/{wildcards.benchmark} --log {log:q}"
