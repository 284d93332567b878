"""The configurations of the published protocol say what the paper's own tables say."""

from dataclasses import dataclass

import pytest
from pages import ROOT

from skillopt.config.resolve import load_run
from skillopt.config.settings import Settings


@dataclass(frozen=True)
class Published:
    """What a benchmark has of its own."""

    train_size: int
    workers: int
    max_turns: int = 1
    exec_timeout: float = 120
    own: tuple[tuple[str, object], ...] = ()


PROTOCOL = {
    "alfworld": Published(39, 8, 50, own=(("engine", "textworld"), ("history", 2))),
    "docvqa": Published(107, 16, own=(("image_detail", "auto"),)),
    "livemathematicianbench": Published(
        *(35, 64),
        exec_timeout=300,
        own=(("shuffle_choices", True), ("use_theorem", False), ("use_sketch", False)),
    ),
    "officeqa": Published(50, 4, 24, own=(("match", "text"), ("document_scope", "sources"))),
    "searchqa": Published(400, 24, own=(("context_chars", 6000),)),
    "spreadsheetbench": Published(80, 24, 30, 600, own=(("mode", "multi"), ("program_seconds", 120.0))),
}


@pytest.mark.parametrize("name", PROTOCOL)
def test_published_protocol(name):
    expected = PROTOCOL[name]
    resolved = load_run(ROOT / f"config/{name}_paper.yaml", [], {})
    env, train = resolved.settings.env, resolved.settings.train
    assert (env.name, env.split_mode, env.limit) == (name, "split_dir", 0)
    assert env.split_dir.endswith(f"data/paper/{name}")
    assert (env.workers, env.max_turns, env.exec_timeout, env.max_completion_tokens) == (
        *(expected.workers, expected.max_turns, expected.exec_timeout),
        16384,
    )
    assert {key: resolved.env_settings[key] for key, _ in expected.own} == dict(expected.own)
    assert (train.train_size, train.num_epochs, train.batch_size, train.accumulation, train.seed) == (
        *(expected.train_size, 4, 40, 1, 42),
    )
    assert {role.model for role in resolved.roles.values()} == {"gpt-5.5"}


def test_the_rest_of_the_protocol_is_the_default():
    gradient, optimizer, evaluation = Settings().gradient, Settings().optimizer, Settings().evaluation
    assert (gradient.minibatch_size, gradient.merge_batch_size, gradient.analyst_workers) == (8, 8, 16)
    assert gradient.failure_only is False
    assert (optimizer.learning_rate, optimizer.min_learning_rate, optimizer.lr_scheduler) == (4, 2, "cosine")
    assert (optimizer.use_slow_update, optimizer.slow_update_samples, optimizer.use_meta_skill) == (
        *(True, 20, True),
    )
    assert (evaluation.use_gate, evaluation.gate_metric, evaluation.eval_test) == (True, "hard", True)
    assert (evaluation.sel_env_num, evaluation.test_env_num) == (0, 0)
