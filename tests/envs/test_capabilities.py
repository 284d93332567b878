"""A benchmark that needs more than text is refused with a target that takes only text."""

import pytest

from skillopt.config.resolve import load_run
from skillopt.envs.registry import environment
from skillopt.errors import ConfigError
from skillopt.phases.plan import require_capabilities


@pytest.mark.parametrize(("name", "lacking"), [("docvqa", "images"), ("officeqa", "tools")])
def test_a_target_without_it_is_refused(tmp_path, name, lacking):
    file = tmp_path / "run.yaml"
    file.write_text(f"env: {{name: {name}, split_mode: split_dir, split_dir: d}}\n")
    bench = environment(name)
    with pytest.raises(ConfigError, match=f"takes {lacking}; the backend 'copilot_chat'"):
        require_capabilities(load_run(file, ["model.target_backend=copilot_chat"], {}), bench)
    require_capabilities(load_run(file, [], {}), bench)
    named = ["model.target_backend=openai_compatible", "model.target=m"]
    require_capabilities(load_run(file, named, {}), bench)
