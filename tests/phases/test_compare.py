"""The comparison of an epoch, phase by phase on the simulator, from the command line."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.errors import ExitCode
from skillopt.files import read_json, read_jsonl, write_json, write_jsonl, write_text
from skillopt.phases.plan import plan_run
from skillopt.records import Failure, Pairs, Row
from tests.optimizing import RUN

PREVIOUS = "# Skill\n\nNothing.\n"
CURRENT = "# Skill\n\n- Give the shortest span.\n- No explanation in the tags.\n"
SAMPLE = 8
KINDS = {
    (False, True): "improved",
    (True, False): "regressed",
    (False, False): "persistent_fail",
    (True, True): "stable_success",
}


class Epoch:
    """The files of the end of epoch 2."""

    def __init__(self, folder, *overrides):
        self.run = folder / "run"
        self.store = folder / "calls"
        resolved = load_run(RUN, [f"optimizer.slow_update_samples={SAMPLE}", *overrides], {})
        self.plan = plan_run("run", resolved)[0]
        write_json(self.run / "config.json", resolved)
        write_json(self.run / "plan.json", self.plan)
        write_text(self.run / "previous.md", PREVIOUS)
        write_text(self.run / "current.md", CURRENT)

    def phase(self, name, **files):
        command = [name, "--config", self.run / "config.json", "--plan", self.run / "plan.json"]
        command += ["--epoch", 2, "--store", self.store]
        for option, file in files.items():
            command += [f"--{option.replace('_', '-')}", self.run / file]
        return main([str(part) for part in command])

    def sample(self):
        return self.phase("sample", skill="previous.md", out="sample.jsonl")

    def compare(self):
        files = {"previous_skill": "previous.md", "skill": "current.md", "sample": "sample.jsonl"}
        written = {"previous": "previous.jsonl", "current": "current.jsonl", "out": "pairs.json"}
        return self.phase("compare", **files, **written)

    def rows(self, name):
        return read_jsonl(self.run / f"{name}.jsonl", Row)

    @property
    def pairs(self):
        return read_json(self.run / "pairs.json", Pairs)

    def assert_pairs_are_of_the_rows(self):
        before, after = ({row.id: row for row in self.rows(side)} for side in ("previous", "current"))
        for pair in self.pairs.pairs:
            old, new = before[pair.id], after[pair.id]
            assert (pair.previous, pair.current) == ((old.hard, old.soft), (new.hard, new.soft))
            assert pair.kind == KINDS[old.hard > 0, new.hard > 0]


@pytest.fixture
def epoch(tmp_path, monkeypatch):
    monkeypatch.chdir(RUN.parents[1])
    return lambda *overrides: Epoch(tmp_path, *overrides)


def ids(rows):
    return [row.id for row in rows]


def test_the_sample_is_done_with_the_previous_skill_and_compared_with_the_current_one(epoch):
    made = epoch()
    assert made.sample() == made.compare() == ExitCode.OK
    planned = list(made.plan.epochs[1].comparison)
    assert ids(made.rows("sample")) == planned[:SAMPLE]
    assert made.rows("previous") == made.rows("sample")
    assert ids(made.rows("current")) == planned[:SAMPLE]
    pairs = made.pairs
    assert (pairs.sampled, pairs.topped_up, pairs.dropped) == (SAMPLE, 0, ())
    assert [pair.id for pair in pairs.pairs] == planned[:SAMPLE]
    made.assert_pairs_are_of_the_rows()
    assert "improved" in {pair.kind for pair in pairs.pairs}


def test_an_item_without_a_score_on_one_side_is_in_no_pair(epoch):
    made = epoch("evaluation.min_coverage=0.5")
    assert made.sample() == ExitCode.OK
    first, *others = made.rows("sample")
    failure = Failure(kind="http_500", message="overheated")
    lost = replace(first, status="provider_error", hard=None, soft=None, error=failure)
    write_jsonl(made.run / "sample.jsonl", [lost, *others])
    assert made.compare() == ExitCode.OK
    assert made.pairs.dropped == (first.id,)
    assert [pair.id for pair in made.pairs.pairs] == ids(others)
    made.assert_pairs_are_of_the_rows()


@pytest.mark.parametrize("policy", ["changed", "unchanged"])
def test_a_policy_keeps_its_pairs_and_only_changed_ones_are_topped_up(epoch, policy):
    made = epoch(f"optimizer.longitudinal_pair_policy={policy}")
    assert made.sample() == made.compare() == ExitCode.OK
    pairs, planned = made.pairs, list(made.plan.epochs[1].comparison)
    changed = {"improved", "regressed"}
    assert all((pair.kind in changed) == (policy == "changed") for pair in pairs.pairs)
    made.assert_pairs_are_of_the_rows()
    done = SAMPLE + pairs.topped_up
    assert ids(made.rows("previous")) == ids(made.rows("current")) == planned[:done]
    assert made.rows("previous")[:SAMPLE] == made.rows("sample")
    if policy == "unchanged":
        assert pairs.topped_up == 0
    else:
        assert pairs.topped_up > 0
        assert len(pairs.pairs) == SAMPLE or done == len(planned)


def test_a_sample_of_other_items_is_refused(epoch):
    made = epoch()
    assert made.sample() == ExitCode.OK
    lines = (made.run / "sample.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (made.run / "sample.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    assert made.compare() == ExitCode.CORRUPT_FILE
    assert not Path(made.run / "pairs.json").exists()
