"""Fetch the real data of a published benchmark: the items that a split manifest names, checked and hashed.

Writes train/, val/ and test/ with items.json, files of items, and split_manifest.json, all or nothing.
Started again, it keeps what is whole and continues downloads.
"""

import argparse
import signal
from pathlib import Path

from skillopt.data import PAPER
from skillopt.errors import DataError
from skillopt.sources.benchmarks import SOURCES, source_of

MANIFESTS = Path("original/data")
"""Where the original project's manifests are looked for, after its repository was cloned as `original`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt materialise`."""
    parser.add_argument("benchmark", help=f"one of {', '.join(SOURCES)}")
    parser.add_argument(
        "--manifest",
        type=Path,
        help=f"folder with the manifest's train/, val/, test/; default: {MANIFESTS}/<name of the benchmark's "
        "manifest> (read)",
    )
    parser.add_argument(
        "--source", type=Path, help="folder with the data set's files, instead of the hub (read)"
    )
    parser.add_argument(
        "--out", type=Path, help=f"folder of the data; default: {PAPER}/<benchmark> (written)"
    )


def main(args: argparse.Namespace) -> None:
    """Run the command."""
    source = source_of(args.benchmark)
    folder = args.manifest or MANIFESTS / source.manifest
    if not folder.is_dir():
        raise DataError(missing_manifest(args.benchmark, folder))
    if args.source and not args.source.is_dir():
        raise DataError(
            f"--source: expected a folder with files of {source.repo}, found none at {args.source}"
        )
    from skillopt.sources.manifest import read_manifest
    from skillopt.sources.materialise import materialise

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing half-written stays
    manifest = read_manifest(folder, args.benchmark)
    materialise(args.benchmark, source, manifest, args.source, args.out or PAPER / args.benchmark)


def missing_manifest(benchmark: str, folder: Path) -> str:
    """Say that a manifest is missing and how to get the published one."""
    return (
        f"{benchmark}: expected its split manifest (train/, val/, test/) at {folder}, found none. The "
        "published one is part of the original project; fetch it, with a network:\n"
        f"  git clone --depth 1 https://github.com/microsoft/SkillOpt {MANIFESTS.parent}\n"
        f"  skillopt materialise {benchmark}\n"
        f"or name another: skillopt materialise {benchmark} --manifest FOLDER"
    )
