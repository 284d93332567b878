"""The caps of a run, over whole runs: it stops with its own code, and goes on when the cap is raised."""

import json

from loop import ROOT

from skillopt.models.ledger import read_ledger

PRICES = "gpt-4o-mini: {prompt: 1000, completion: 1000}\n"
"""A call of the endpoint uses 7 + 3 tokens, and so costs a cent."""
PLAIN = ("snakemake", "--cores", "4", "results/loop/best_skill.md", "results/loop/summary.json")


def snakefile(project):
    """Plain snakemake reads the workflow of the checkout."""
    return (*PLAIN[:1], "--snakefile", str(ROOT / "Snakefile"), *PLAIN[1:])


def test_a_run_stops_at_its_cap_and_goes_on_when_it_is_raised(finished, project, server):
    (project.folder / "prices.yaml").write_text(PRICES)
    project.configure(budget__max_cost=0.25, calls__prices="prices.yaml")
    running = project.train()
    assert running.code == 6, running.text
    assert len(server.calls) == 25
    assert "budget.max_cost is reached: 0.2500 of 0.2500 USD are spent" in running.text
    assert "skillopt train loop --set budget.max_cost=" in running.text
    assert project.status() == 6
    seen = project.start("skillopt", "watch", "loop", "--once").wait().text
    assert seen.startswith("loop  failed  epoch ")
    assert "(cap reached): budget.max_cost is reached" in " ".join(seen.split())
    assert "budget: $0.25 of $0.25" in seen
    assert project.all_kept(server)
    notes = [json.loads(path.read_text()) for path in project.results.glob("logs/**/*.failure.json")]
    assert {note["exit_code"] for note in notes} == {6}
    project.configure(budget__max_cost=2, calls__prices="prices.yaml")
    running = project.train()
    assert running.code == 0, running.text
    assert server.repeated == 0
    assert len(server.calls) == finished.call_count
    assert without_config(project) == without_config(finished)
    totals = read_ledger(project.folder / "results/.calls", "loop").totals
    assert sum(total.made for total in totals) == finished.call_count


def without_config(project):
    """All result files but config.json, which names the cap."""
    files = project.files()
    del files["config.json"]
    return files


def test_plain_snakemake_says_it_and_a_raised_cap_re_runs_nothing(finished, project, server):
    project.configure(budget__max_calls=9)
    running = project.start(*snakefile(project)).wait()
    assert running.code == 1
    assert "budget.max_calls is reached: 9 of 9 calls are spent" in running.text
    assert len(server.calls) == 9
    done = finished.start(
        *snakefile(finished), "--dry-run", "--config", "set=budget.max_calls=1 budget.max_tokens=5"
    ).wait()
    assert done.code == 0
    assert "Nothing to be done" in done.text


def test_a_cap_that_cannot_be_kept_is_refused_before_any_call(project, server):
    (project.folder / "prices.yaml").write_text(PRICES)
    project.configure(budget__max_cost=1, calls__prices="prices.yaml", model__target="m")
    running = project.train()
    assert running.code == 2, running.text
    assert "budget.max_cost: expected a price for the target's model 'm' in prices.yaml" in running.text
    assert server.calls == []
    assert not (project.folder / "results").exists()
