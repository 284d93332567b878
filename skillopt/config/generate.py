"""Write the files that are made from the settings; with --check, say which are stale.

config/config.yaml, workflow/schemas/config.schema.json, docs/configuration.md
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from skillopt.config.as_markdown import markdown
from skillopt.config.as_schema import schema
from skillopt.config.as_yaml import yaml_text
from skillopt.config.keys import Catalog, installed
from skillopt.files import read_text, write_text

FILES: Mapping[str, Callable[[Catalog], str]] = {
    "config/config.yaml": yaml_text,
    "workflow/schemas/config.schema.json": schema,
    "docs/configuration.md": markdown,
}


def stale(root: Path, catalog: Catalog) -> list[str]:
    """Return the files that are missing or differ from what the settings say."""
    return [
        name
        for name, text in FILES.items()
        if not (root / name).is_file() or read_text(root / name) != text(catalog)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m skillopt.config.generate", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the repository")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    args = parser.parse_args(argv)
    catalog = installed()
    names = stale(args.root, catalog)
    if args.check:
        for name in names:
            print(f"{name} is stale: run python -m skillopt.config.generate", file=sys.stderr)
        return 1 if names else 0
    for name in names:
        write_text(args.root / name, FILES[name](catalog))
        print(f"{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
