"""What re-runs when, as dry runs on finished runs."""

import json
import os
from itertools import pairwise

import pytest
from project import Job, Project

RUN = """
train: {{num_epochs: 2, batch_size: 4}}
gradient: {{minibatch_size: 4}}
optimizer: {{lr_scheduler: {scheduler}, slow_update_samples: 4}}
evaluation: {{eval_test: {eval_test}}}
env:
  name: searchqa
  split_mode: split_dir
  split_dir: data/small
  workers: 8
"""
COSINE = "results/cosine/summary.json"
CONSTANT = "results/constant/summary.json"
STEP_RULES = ("rollout", "reflect", "aggregate", "select", "update", "evaluate", "gate")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Two finished runs, made by one command."""
    made = Project(tmp_path_factory.mktemp("reruns") / "project")
    made.sample("small", 12, 6, 6)
    made.write_run("cosine", RUN.format(scheduler="cosine", eval_test="true"))
    made.write_run("constant", RUN.format(scheduler="constant", eval_test="false"))
    made.snakemake("--quiet", "all", "--", COSINE, CONSTANT)
    return made


@pytest.fixture
def cosine(project):
    def plan(*overrides, **named):
        return project.planned(COSINE, overrides=overrides, **named)

    return plan


@pytest.fixture
def constant(project):
    return lambda *overrides: project.planned(CONSTANT, overrides=overrides)


@pytest.fixture
def edited(project):
    """Change files of the project for one test."""
    before = {}

    def edit(path, change):
        path = project.folder / path
        before.setdefault(path, (path.read_bytes(), path.stat()))
        path.write_bytes(change(path.read_bytes()))

    yield edit
    for path, (content, stat) in before.items():
        path.write_bytes(content)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def step(number, *rules, run="cosine"):
    return {Job(run, rule, f"{number:04d}") for rule in rules or STEP_RULES}


def steps_of(jobs):
    return {int(job.at) for job in jobs if job.rule in STEP_RULES}


BASELINE = {
    Job("cosine", "evaluate_initial"),
    Job("cosine", "gate_initial"),
    Job("cosine", "evaluate_split", "test/initial"),
}


def test_a_finished_run_has_nothing_to_do(project, cosine, constant):
    assert cosine() == frozenset()
    assert constant() == frozenset()
    assert cosine(env={"PYTHONHASHSEED": "7"}) == frozenset()


def test_gate_metric_re_runs_gates_and_what_follows(cosine):
    jobs = cosine("evaluation.gate_metric=soft")
    assert {Job("cosine", "gate_initial"), *step(1, "gate"), *step(6)} <= jobs
    assert not jobs & {Job("cosine", "evaluate_initial"), Job("cosine", "evaluate_split", "test/initial")}
    assert not jobs & step(1, "rollout", "reflect", "aggregate", "select", "update")


def test_learning_rate_re_runs_reflect_onwards(cosine):
    jobs = cosine("optimizer.learning_rate=6")
    assert step(1, "reflect", "aggregate", "select", "update", "evaluate", "gate") <= jobs
    assert step(6) <= jobs
    assert not jobs & (step(1, "rollout") | BASELINE)


@pytest.mark.parametrize("override", ["optimizer.min_learning_rate=4", "optimizer.lr_scheduler=linear"])
def test_a_schedule_re_runs_select_from_the_first_step_whose_budget_changes(project, cosine, override):
    def budgets(jobs_of):
        return [s["edit_budget"] for s in jobs_of["steps"]]

    plan = json.loads((project.folder / "results/cosine/plan.json").read_text())
    new = project.snakemake(
        "--dry-run", "--printshellcmds", "--config", f"set={override}", "--", COSINE
    ).stdout
    jobs = cosine(override)
    first = min(steps_of(jobs))
    assert first > 1
    assert jobs & step(first) == step(first, "select", "update", "evaluate", "gate")
    before, after = budgets(plan)[first - 1], _budget_in(new, first)
    assert before != after
    assert not jobs & BASELINE


def _budget_in(output, step_number):
    words = next(
        line
        for line in output.splitlines()
        if f"--step {step_number:04d}" in line and "skillopt select" in line
    ).split()
    return int(words[words.index("--budget") + 1])


def test_one_more_epoch_runs_the_new_epoch_and_the_final_evaluation(constant):
    jobs = constant("train.num_epochs=3")
    assert steps_of(jobs) == {7, 8, 9}
    assert {Job("constant", "slow_update", "03"), Job("constant", "sample", "03")} <= jobs
    assert {job.at for job in jobs if job.rule == "meta_skill"} == {"02"}  # for the new epoch to read
    others = {job for job in jobs if job.rule not in STEP_RULES and not job.at}
    assert others == {Job("constant", rule) for rule in ("best_skill", "history", "summary")}
    ends = {job.at for job in jobs if job.rule not in (*STEP_RULES, "meta_skill") and job.at}
    assert ends == {"03"}


def test_target_model_re_runs_every_rollout_and_evaluation(cosine):
    jobs = cosine("model.target_simulator_seed=5")
    assert {Job("cosine", "evaluate_initial"), Job("cosine", "evaluate_split", "test/initial")} <= jobs
    assert {job for n in range(1, 7) for job in step(n, "rollout", "evaluate")} <= jobs
    assert Job("cosine", "compare", "02") in jobs


def test_optimizer_model_re_runs_reflect_onwards_and_never_the_baseline(cosine):
    jobs = cosine("model.optimizer_simulator_seed=5")
    assert step(1, "reflect", "aggregate", "select", "update", "evaluate", "gate") <= jobs
    assert not jobs & (step(1, "rollout") | BASELINE)


def test_an_item_re_runs_from_the_first_step_that_has_it(project, cosine, edited):
    plan = json.loads((project.folder / "results/cosine/plan.json").read_text())
    id_ = plan["steps"][2]["batches"][0]["ids"][0]

    def change(content):
        items = json.loads(content)
        for item in items:
            if item["id"] == id_:
                item["question"] += " Please."
        return json.dumps(items).encode()

    edited("data/small/train/items.json", change)
    jobs = cosine()
    assert steps_of(jobs) == {3, 4, 5, 6}
    assert step(3) <= jobs
    assert not jobs & BASELINE


def test_a_selection_item_re_runs_evaluations_and_no_first_rollout(cosine, edited):
    edited("data/small/val/items.json", lambda content: content.replace(b"?", b" ?", 1))
    jobs = cosine()
    assert {Job("cosine", "evaluate_initial"), *step(1, "evaluate", "gate")} <= jobs
    assert not jobs & step(1, "rollout", "reflect", "aggregate", "select", "update")


def test_the_guidance_s_gate_re_runs_what_writes_the_guidance(cosine):
    jobs = cosine("optimizer.slow_update_gate_with_selection=false")
    assert {Job("cosine", rule, "02") for rule in ("slow_update", "evaluate_slow_update")} <= jobs
    assert {Job("cosine", rule, at) for rule in ("gate_slow_update",) for at in ("01", "02")} <= jobs
    assert Job("cosine", "evaluate_split", "val/last") in jobs
    assert not jobs & (step(1, *STEP_RULES) | step(3, *STEP_RULES) | BASELINE)


def test_switching_the_test_on_runs_the_test_alone(constant):
    jobs = constant("evaluation.eval_test=true")
    tests = {Job("constant", "evaluate_split", f"test/{skill}") for skill in ("initial", "best", "last")}
    assert jobs == tests | {Job("constant", "summary")}


def test_how_a_run_is_carried_out_re_runs_nothing(cosine):
    overrides = (
        "env.workers=3",
        "gradient.analyst_workers=2",
        "env.exec_timeout=77",
        "calls.timeout=77",
        "calls.max_attempts=2",
        "calls.prices=prices.yaml",
        "evaluation.min_coverage=0.5",
    )
    assert cosine(*overrides) == frozenset()


def test_key_order_comments_and_touched_files_re_run_nothing(project, cosine, edited):
    edited("config/cosine.yaml", lambda content: b"# a comment\n" + b"\n".join(reversed(_sections(content))))
    for pattern in (
        "data/small/*/items.json",
        "skillopt/**/*.j2",
        "skillopt/**/*.md",
        "skillopt/phases/*.py",
        "rules/*",
    ):
        for path in project.folder.glob(pattern):
            path.touch()
    for path in (project.folder / "results/cosine/skills").iterdir():
        path.touch()
    (project.folder / "results/cosine/unrelated.txt").write_text("x")
    assert cosine() == frozenset()


def _sections(content):
    """Cut a run file into its sections."""
    text = content.decode()
    starts = [i for i, line in enumerate(text.splitlines()) if line and not line.startswith(" ")]
    lines = text.splitlines()
    cuts = [*starts, len(lines)]
    return ["\n".join(lines[a:b]).encode() for a, b in pairwise(cuts)]


def test_an_edited_prompt_re_runs_what_it_feeds(cosine, edited):
    edited("skillopt/prompts/merge.md.j2", lambda content: content + b"\n")
    jobs = cosine()
    assert step(1, "aggregate", "select", "update", "evaluate", "gate") <= jobs
    assert not jobs & (step(1, "rollout", "reflect") | BASELINE)


def test_an_edited_skill_re_runs_the_later_steps(cosine, edited):
    edited("results/cosine/skills/skill_v0002.md", lambda content: content + b"- A rule by hand.\n")
    assert steps_of(cosine()) == {3, 4, 5, 6}


def test_a_lost_file_that_nothing_needs_re_runs_nothing_and_its_consumer_brings_it_back(project, cosine):
    folder = project.folder / "results/cosine/steps/step_0005"
    kept = {name: (folder / name).read_bytes() for name in ("merged.json", "patch.json")}
    (folder / "merged.json").unlink()
    assert cosine() == frozenset()
    (folder / "patch.json").unlink()
    try:
        assert cosine() == frozenset()  # patch.json feeds only what is there already
        jobs = project.planned("results/cosine/steps/step_0005/patch.json")
    finally:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
    assert jobs == step(5, "aggregate", "select")


def test_best_skill_is_a_skill_that_has_a_score(project):
    folder = project.folder / "results/cosine"
    record = json.loads((folder / "best_skill.json").read_text())
    assert (folder / "best_skill.md").read_bytes() == (folder / record["skill"]).read_bytes()
    rows = [json.loads(line) for line in (folder / record["origin"]).read_text().splitlines()]
    assert record["score"]["value"] == sum(row["hard"] for row in rows) / len(rows)
