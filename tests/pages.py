"""The Markdown pages of the repository, and what stands in their code blocks."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        ROOT / "config/README.md",
        ROOT / "data/README.md",
        ROOT / "skillopt/tools/project.md",
        ROOT / "skillopt/tools/project_data.md",
    ]
)
BLOCK = re.compile(r"(?P<before>[^\n]*)\n```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
NOT_RUN = "<!-- not run by the tests:"


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, kind):
    """Return the text of the code blocks of a kind; those of a marked one are left out."""
    found = BLOCK.finditer("\n" + page.read_text(encoding="utf-8"))
    return [
        block["text"] for block in found if block["kind"] == kind and not block["before"].startswith(NOT_RUN)
    ]


def code(page):
    """Return all that stands in code blocks and in back-quotes."""
    text = page.read_text(encoding="utf-8")
    parts = re.findall(r"```.*?```", text, re.DOTALL)
    rest = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join([*parts, *re.findall(r"`([^`]+)`", rest)])


def environment(copy):
    """Return an environment whose `skillopt` and `snakemake` are this interpreter's, on the copy."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: os.environ[key] for key in ("HOME", "TMPDIR", "LANG") if key in os.environ}
    return {**kept, "PATH": path, "PYTHONPATH": str(copy)}
