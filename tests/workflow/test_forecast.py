"""What `skillopt plan` says before a run is what a scripted endpoint counts in it."""

import json
import re
from collections import Counter

import pytest
from endpoint import Answer
from loop import Project, kind_of, model

from skillopt.models.ledger import per_phase, read_ledger

PHASE_OF = {
    "preflight": "preflight",
    "failure_summary": "reflect",
    "success_patterns": "reflect",
    "merge": "aggregate",
    "selected_indices": "select",
    "slow_update_content": "slow_update",
    "meta_skill_content": "meta_skill",
    "target": "target",
}
ONE_EPOCH = {
    "train__num_epochs": 1,
    "train__batch_size": 2,
    "evaluation__eval_test": False,
    "optimizer__use_slow_update": False,
    "optimizer__use_meta_skill": False,
    "optimizer__slow_update_samples": 20,
}
TWO_TURNS = {
    "train__num_epochs": 3,
    "train__batch_size": 3,
    "train__accumulation": 2,
    "evaluation__repeats": 2,
    "env__max_turns": 2,
    "optimizer__lr_control_mode": "autonomous",
    "optimizer__longitudinal_pair_policy": "changed",
    "optimizer__slow_update_gate_with_selection": False,
}


def planned(project):
    running = project.start("skillopt", "plan", "loop", "--format", "json").wait()
    assert running.code == 0, running.text
    return json.loads(running.text)


def lines(forecast):
    return {(line["role"], line["phase"]): line for line in forecast["lines"]}


def within(number, of):
    assert of["low"] <= number <= of["high"], (number, of)


def is_exact(of):
    return of["low"] == of["high"]


def jobs_of(output):
    """How many jobs the engine said that it would do."""
    return int(re.search(r"^total +(\d+)$", output, re.MULTILINE)[1])


def asks_for_a_number(call):
    return '"learning_rate"' in call.body["messages"][0]["content"]


def with_numbers(call):
    """The scripted model, which also says how many edits a step should have."""
    if asks_for_a_number(call):
        return Answer(text=json.dumps({"reasoning": "r", "learning_rate": 1}))
    return model(call)


def counted(calls):
    """Calls that arrived at the endpoint; of the target's it cannot be seen for which phase."""
    return Counter("select" if asks_for_a_number(call) else PHASE_OF[kind_of(call)] for call in calls)


def agree(forecast, calls, project):
    """Calls at the endpoint, in the accounts and in the forecast are the same, by role and phase."""
    totals = per_phase(read_ledger(project.folder / "results/.calls", "loop"))
    accounts = {(total.role, total.phase): total for total in totals}
    said = lines(forecast)
    assert set(accounts) <= set(said)
    made = Counter()
    for key, line in said.items():
        total = accounts.get(key)
        asked = (total.made + total.replayed) if total else 0
        within(asked, line["asks"])
        within(total.made if total else 0, line["paid"])
        assert line["paid"]["high"] <= line["asks"]["high"]
        made["target" if key[0] == "target" and key[1] != "preflight" else key[1]] += (
            total.made if total else 0
        )
    assert +made == counted(calls)
    within(len(calls), forecast["total"]["paid"])


def test_of_the_whole_loop(finished, server, tmp_path):
    empty = planned(Project(tmp_path, server.url))
    agree(empty, finished.calls_of, finished)
    said = lines(empty)
    assert (empty["epochs"], empty["steps"]) == (2, 2)
    exact = {key[1]: line["asks"]["low"] for key, line in said.items() if is_exact(line["asks"])}
    assert exact == {
        "preflight": 1,
        "rollout": 12,
        "sample": 2,
        "compare": 2,
        "slow_update": 1,
        "update": 0,
    }
    assert said["target", "rollout"]["paid"] == {"low": 6, "high": 12}
    assert said["target", "evaluate"]["asks"] == {"low": 8, "high": 8 + 3 * 4 + 2 * 4}
    assert said["optimizer", "reflect"]["asks"] == {"low": 4, "high": 6}
    assert empty["total"]["known"] == 1 + 1 + 6 + 8
    assert empty["total"]["held"] == 0
    again = planned(finished)
    assert (again["total"]["held"], again["made"]) == (1 + 1 + 6 + 8, finished.call_count)
    assert empty["jobs"] == jobs_of(finished.output)
    assert f"loop in all: 2 epochs, 2 steps, {empty['jobs']} jobs; " in finished.output


@pytest.mark.parametrize("settings", [ONE_EPOCH, TWO_TURNS], ids=["one_epoch", "two_turns"])
def test_of_other_loops(project, server, settings):
    project.configure(**settings)
    forecast = planned(project)
    assert server.calls == []
    assert not (project.folder / "results").exists()
    server.reset(with_numbers)
    running = project.train()
    assert running.code == 0, running.text
    agree(forecast, server.calls, project)
    assert forecast["jobs"] == jobs_of(running.text)
    said = lines(forecast)
    if settings is ONE_EPOCH:
        assert said["target", "rollout"]["paid"] == {"low": 6, "high": 6}
        assert ("target", "compare") not in said
        assert said["target", "evaluate"]["asks"] == {"low": 4, "high": 4 * 4}
    else:
        assert said["target", "rollout"]["asks"] == {"low": 18, "high": 36}
        assert said["optimizer", "select"]["asks"] == {"low": 0, "high": 6}
        assert said["target", "sample"]["asks"] == {"low": 4, "high": 8}
        assert said["target", "compare"]["asks"] == {"low": 4, "high": 40}
        assert said["target", "repeat"]["asks"] == {"low": 4, "high": 24}
        assert said["optimizer", "meta_skill"]["paid"] == {"low": 1, "high": 1}
