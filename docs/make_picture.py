"""Take the learning curve and the score table of a finished run into the README.

    python docs/make_picture.py results/searchqa

Writes docs/learning-curve.svg and the block of README.md between the `score table` comments.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from skillopt.files import read_json, read_text, write_text
from skillopt.phases.summary import Summary, table
from skillopt.report.figures import learning
from skillopt.report.record import RunRecord
from skillopt.report.render import picture

BLOCK = re.compile(r"(<!-- score table[^\n]*-->\n).*?(<!-- end of score table -->)", re.DOTALL)


def with_table(readme: str, lines: str) -> str:
    """Return the README with another score table."""
    block = f"```text\n{lines.rstrip()}\n```\n"
    return BLOCK.sub(lambda found: found[1] + block + found[2], readme)


def main(argv: Sequence[str] | None = None) -> None:
    """Read a finished run; write the picture and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run, such as results/searchqa (read)")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    args = parser.parse_args(argv)
    write_text(args.root / "docs/learning-curve.svg", picture(learning(RunRecord(args.run)).chart))
    readme = args.root / "README.md"
    write_text(readme, with_table(read_text(readme), table(read_json(args.run / "summary.json", Summary))))


if __name__ == "__main__":
    main()
