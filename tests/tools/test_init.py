"""What a new project holds, and that its notes say nothing of what it does not hold."""

import json
import re

from skillopt.cli import main
from skillopt.envs.registry import environment_names


def test_the_notes_on_the_data_are_the_projects_own(tmp_path, capsys):
    assert main(["init", str(tmp_path / "mine")]) == 0
    said = (tmp_path / "mine/data/README.md").read_text(encoding="utf-8")
    sizes = [
        len(json.loads((tmp_path / f"mine/data/searchqa/{split}/items.json").read_bytes()))
        for split in ("train", "val", "test")
    ]
    assert "{}, {} and {} questions".format(*sizes) in " ".join(said.split())
    assert "creativecommons.org/publicdomain/zero/1.0" in said
    others = set(environment_names()) - {"searchqa"}
    assert others & set(re.findall(r"\w+", said)) == set()
    assert main(["init", str(tmp_path / "mine")]) == 2
    assert "expected no such file" in capsys.readouterr().err
