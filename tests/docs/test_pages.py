"""What the pages say exists: links, commands, settings, codes, statuses."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from pages import PAGES, ROOT, blocks, code, name

from skillopt.cli import PHASES, TOOLS
from skillopt.config.resolve import load_run
from skillopt.errors import ExitCode
from skillopt.records import EditStatus, GateAction, Status

SCHEMA = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
SECTIONS = {section: set(value["properties"]) for section, value in SCHEMA["properties"].items()
            if "properties" in value}  # fmt: skip
each_page = pytest.mark.parametrize("page", PAGES, ids=name)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@each_page
def test_relative_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if part:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in [anchor(heading) for heading in headings], link


@each_page
def test_commands_exist(page):
    commands = re.findall(r"(?<![-/\w])(?<!from )skillopt ([a-z_-]+)", code(page))
    assert set(commands) <= {*PHASES, *TOOLS}


# The other page lists settings of another program.
@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "from-the-original"], ids=name)
def test_settings_exist(page):
    named = re.findall(rf"(?<![\w./])({'|'.join(SECTIONS)})\.([a-z_]+)(?![\w.]*[(/])", code(page))
    unknown = [
        f"{section}.{key}"
        for section, key in named
        if key not in SECTIONS[section] and key not in ("py", "yaml", "json")
    ]
    assert unknown == []


def test_configurations_of_the_readme_load(tmp_path):
    shown = blocks(ROOT / "README.md", "yaml")
    assert len(shown) == 3
    shipped = (ROOT / "config/searchqa.yaml").read_text(encoding="utf-8")
    for text in shown:
        section = text.partition(":")[0]
        others = re.split(rf"^{section}:\n(?:[ ].*\n)*", shipped, flags=re.MULTILINE)
        assert len(others) == 2
        file = tmp_path / "config" / f"{section}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(others) + text, encoding="utf-8")
        assert load_run(file, [], {}).settings.env.name == "searchqa"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("docs/results.md", get_args(Status)),
        ("docs/results.md", [action for action in get_args(GateAction) if action != "initial"]),
        ("docs/results.md", [status for status in get_args(EditStatus) if status.startswith("applied")]),
        ("docs/exit-codes.md", [code.name.lower().replace("_", " ") for code in ExitCode]),
        ("docs/exit-codes.md", [f"| {int(code)} |" for code in ExitCode]),
    ],
)
def test_tables_are_complete(page, words):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = [page.name for page in Path(ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page for page in pages if f"({page})" not in index] == []
