"""Runs in several modes of the loop on the simulator, made by one command, and what holds in each of them."""

import asyncio
import json
from collections import Counter
from pathlib import Path

from project import Project

from skillopt.config.resolve import load_run
from skillopt.forecast.estimate import forecast
from skillopt.models.ledger import per_phase, read_ledger
from skillopt.phases.plan import plan_run
from skillopt.runs import Run

BASE = """
train: {{num_epochs: {epochs}, batch_size: 6{train}}}
gradient: {{minibatch_size: 3{gradient}}}
optimizer: {{lr_scheduler: cosine{optimizer}}}
evaluation: {{{evaluation}}}
env: {{name: searchqa, split_mode: split_dir, split_dir: data/small, workers: 8{env}}}
"""
PARTS = ("train", "gradient", "optimizer", "evaluation", "env")


def settings_of(changes):
    evaluation = changes.get("evaluation", "")
    test = "" if "eval_test" in evaluation else "eval_test: false"
    parts = {part: changes.get(part, "") for part in PARTS}
    return parts | {"epochs": changes.get("epochs", 2), "evaluation": (test + evaluation).lstrip(", ")}


def make(folder, modes) -> Path:
    """Make the runs of these modes in one command with one call store; return the folder of results."""
    project = Project(folder)
    project.sample("small", 12, 6, 3)
    for name, changes in modes.items():
        project.write_run(name, BASE.format(**settings_of(changes)))
    project.snakemake("--quiet", "rules", "--", *(f"results/{name}/summary.json" for name in modes))
    return project.folder / "results"


def read(results, name, path):
    return json.loads((results / name / path).read_text(encoding="utf-8"))


def rows(results, name, path):
    return [json.loads(line) for line in (results / name / path).read_text(encoding="utf-8").splitlines()]


def steps(results, name):
    return [
        read(results, name, f"steps/step_{s['step']:04d}/gate.json")
        for s in read(results, name, "plan.json")["steps"]
    ]


def holds_together(results, name):
    """What must hold in every mode: best is a scored text, acceptance is strict, budgets are kept."""
    best = read(results, name, "best_skill.json")
    text = (results / name / "best_skill.md").read_bytes()
    assert text == (results / name / best["skill"]).read_bytes()
    if not best["inherited"]:
        scored = rows(results, name, best["origin"])
        assert {row["id"]: [row["hard"], row["soft"]] for row in scored} == best["results"]
    for gate in steps(results, name):
        accepted = gate["action"] in ("accept", "accept_new_best")
        if gate["candidate"] is not None and gate["action"] != "force_accept":
            assert accepted == (gate["candidate"]["value"] > gate["compared"]["value"])
    for planned in read(results, name, "plan.json")["steps"]:
        update = read(results, name, f"steps/step_{planned['step']:04d}/update.json")
        applied = [edit for edit in update["edits"] if edit["status"].startswith("applied")]
        selected = read(results, name, f"steps/step_{planned['step']:04d}/patch.json")
        assert selected["budget"] is None or len(applied) <= selected["budget"]
    summary = read(results, name, "summary.json")
    assert summary["simulated"] == ["optimizer", "target"]
    assert summary["outcome"] in ("improved", "all_rejected", "none_better", "nothing_proposed")
    calls = Counter()
    for entry in read(results, name, "calls.json")["totals"]:
        calls[entry["role"]] += entry["made"] + entry["replayed"]
    used = {role: sum(phase["calls"] for phase in found.values()) for role, found in summary["usage"].items()}
    assert used == dict(calls)  # each call is counted once


def shared_is_paid_once(results, modes):
    totals = [entry for name in modes for entry in read(results, name, "calls.json")["totals"]]
    assert sum(entry["made"] for entry in totals) == len(list(results.glob(".calls/replies/*/*.json")))
    assert sum(entry["replayed"] for entry in totals) > 0
    assert list(results.glob(".calls/replies/*/*claim*")) == []


def calls_are_those_of_the_forecast(results, name):
    """To be called in the folder of the project."""
    resolved = load_run(Path(f"config/{name}.yaml"), [], {})
    found = asyncio.run(forecast(Run(resolved, *plan_run(name, resolved)), results / ".calls"))
    totals = {(total.role, total.phase): total for total in per_phase(read_ledger(results / ".calls", name))}
    assert set(totals) <= {(line.role, line.phase) for line in found.lines}
    for line in found.lines:
        total = totals.get((line.role, line.phase))
        asked, made = (total.made + total.replayed, total.made) if total else (0, 0)
        # An answer that cannot be used is asked for again.
        assert line.asks.low <= asked <= max(line.asks.high, line.most_paid), line
        assert made <= line.most_paid, line
