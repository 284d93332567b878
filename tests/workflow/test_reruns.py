"""What re-runs when: dry runs on finished runs, each compared with the exact set of jobs it should name."""

import json
import os
import shutil
from itertools import pairwise

import pytest
from project import ROOT, Job, Project
from standing import begun, file_of

RUN = """
train: {{num_epochs: {epochs}, batch_size: {batch}}}
gradient: {{minibatch_size: 4}}
optimizer: {{lr_scheduler: {scheduler}{optimizer}}}
evaluation: {{eval_test: {eval_test}}}
env:
  name: searchqa
  split_mode: split_dir
  split_dir: data/small
  workers: 8
"""
SAMPLES = ", slow_update_samples: 4"
COSINE = "results/cosine/summary.json"
CONSTANT = "results/constant/summary.json"
REWRITTEN = "results/rewritten/summary.json"
CHAIN = ("rollout", "reflect", "aggregate", "select", "update", "evaluate", "gate")
END = ("slow_update", "evaluate_slow_update", "gate_slow_update")
LATER_END = ("compare", *END)
FINAL = ("best_skill", "history", "summary")
TESTED = ("test/initial", "test/best", "test/last")


class Shape:
    """The jobs of a finished run, by where they stand in it."""

    def __init__(self, run: str, last_steps: tuple[int, ...], tests: tuple[str, ...]) -> None:
        self.run = run
        self._last_steps = last_steps
        self._tests = tests

    def jobs(self, *rules, at=""):
        return {Job(self.run, rule, at) for rule in rules}

    def step(self, number, first="rollout"):
        """Return the jobs of a step from one rule on."""
        return self.jobs(*CHAIN[CHAIN.index(first) :], at=f"{number:04d}")

    def end(self, epoch):
        """Return the jobs at the end of an epoch; `sample` apart, which may run before it."""
        between = 1 < epoch < len(self._last_steps)
        memory = ("meta_skill",) if between else ()
        return self.jobs(*(END if epoch == 1 else LATER_END), *memory, at=f"{epoch:02d}")

    def tests(self, *names):
        return {Job(self.run, "evaluate_split", name) for name in names or self._tests}

    def final(self):
        """Return what closes a run when its training has changed."""
        return self.jobs(*FINAL) | self.tests(*(name for name in self._tests if name != "test/initial"))

    def after(self, step):
        """Return everything that follows a step."""
        found = self.final()
        for number in range(step + 1, self._last_steps[-1] + 1):
            found |= self.step(number)
        for epoch, last in enumerate(self._last_steps, 1):
            found |= self.end(epoch) if last >= step else set()
            found |= self.sample(epoch) if last > step else set()
        return found

    def sample(self, epoch):
        """Return the sample of an epoch, which follows the last rollout of it; the first has none."""
        return self.jobs("sample", at=f"{epoch:02d}") if epoch > 1 else set()

    def onwards(self, step, first="rollout"):
        """Return the jobs of a step from one rule on, and everything that follows."""
        return self.step(step, first) | self.after(step)

    def everything(self):
        return self.baseline() | self.onwards(1) | self.tests("val/last", *TESTED)

    def baseline(self):
        return self.jobs("evaluate_initial", "gate_initial")

    def measured(self):
        """Return what follows from another way to score: evaluate of step 1 reads the initial score."""
        return self.jobs("gate_initial") | self.onwards(1, "evaluate")


COS = Shape("cosine", (3, 6), TESTED)
CON = Shape("constant", (7,), ())
NEW = Shape("rewritten", (1, 2, 3), ())


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Three finished runs, made by one command."""
    made = Project(tmp_path_factory.mktemp("reruns") / "project")
    made.sample("small", 14, 6, 6)
    cosine = {"epochs": 2, "batch": 5, "scheduler": "cosine", "eval_test": "true", "optimizer": SAMPLES}
    constant = {**cosine, "scheduler": "constant", "eval_test": "false", "optimizer": ""}
    mode = f"{SAMPLES}, skill_update_mode: rewrite_from_suggestions"
    made.write_run("cosine", RUN.format(**cosine))
    made.write_run("constant", RUN.format(**constant | {"epochs": 1, "batch": 2}))
    made.write_run("rewritten", RUN.format(**constant | {"epochs": 3, "batch": 14, "optimizer": mode}))
    made.snakemake("--quiet", "all", "--", COSINE, CONSTANT, REWRITTEN)
    return made


@pytest.fixture
def rerun(project):
    """Plan a run again, with overrides."""
    return lambda target, *overrides, **named: project.planned(target, overrides=overrides, **named)


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


def plan_of(project, run):
    return json.loads((project.folder / f"results/{run}/plan.json").read_text())


def everything_by_the_target():
    return COS.baseline() | COS.onwards(1) | COS.tests()


SETTINGS = [
    # Budgets: cosine 4 4 3 2 2 2, linear 4 3 3 3 2 2.
    ("evaluation.gate_metric=soft", COSINE, COS.measured()),
    ("optimizer.learning_rate=6", COSINE, COS.onwards(1, "reflect")),
    ("optimizer.min_learning_rate=4", COSINE, COS.onwards(3, "select")),
    ("optimizer.lr_scheduler=linear", COSINE, COS.onwards(2, "select")),
    ("optimizer.lr_scheduler=constant", COSINE, COS.onwards(3, "select")),
    ("gradient.merge_batch_size=4", COSINE, COS.onwards(1, "aggregate")),
    ("optimizer.lr_control_mode=autonomous", COSINE, COS.onwards(1, "select")),
    ("env.max_skill_chars=9000", COSINE, COS.onwards(1, "update")),
    ("optimizer.longitudinal_pair_policy=unchanged", COSINE, COS.end(2) | COS.final()),
    ("optimizer.slow_update_samples=3", COSINE, COS.sample(2) | COS.end(2) | COS.final()),
    ("evaluation.use_gate=false", COSINE, COS.measured()),
    ("model.target_simulator_seed=5", COSINE, everything_by_the_target()),
    ("model.optimizer_simulator_seed=5", COSINE, COS.onwards(1, "reflect")),
    (
        "optimizer.slow_update_gate_with_selection=false",
        COSINE,
        COS.end(1) | COS.after(3) | COS.tests("val/last"),
    ),
    (
        "train.num_epochs=2",
        CONSTANT,
        {job for step in range(8, 15) for job in CON.step(step)} | CON.sample(2) | CON.end(2) | CON.final(),
    ),
    ("evaluation.eval_test=true", CONSTANT, CON.tests(*TESTED) | CON.jobs("summary")),
]


@pytest.mark.parametrize(("override", "target", "jobs"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_a_setting_re_runs_exactly(rerun, override, target, jobs):
    assert rerun(target, override) == jobs


@pytest.mark.parametrize(("override", "target", "jobs"), SETTINGS[::3], ids=[row[0] for row in SETTINGS[::3]])
def test_files_tell_after_a_start_what_is_of_before(project, tmp_path, monkeypatch, override, target, jobs):
    monkeypatch.chdir(project.folder)
    name = target.split("/")[1]
    every = {job for part in (COS, CON) for job in part.everything() if job.run == name}
    folder = tmp_path / name
    found = begun(name, (override,), folder)
    of_before = {
        job
        for job in every
        if (path := file_of(job)) and (folder / path).exists() and found.is_of_before(path)
    }
    assert of_before == {job for job in jobs & every if file_of(job) and (folder / file_of(job)).exists()}
    again = {job.at for job in of_before if job.rule == "gate"}
    assert found.again == len(again)
    assert found.steps_done == len({job.at for job in every if job.rule == "gate"}) - len(again)


def test_an_item_or_a_touched_file_after_a_start(project, tmp_path, monkeypatch, edited):
    monkeypatch.chdir(project.folder)
    (batch,) = plan_of(project, "constant")["steps"][6]["batches"]
    for path in (project.folder / "results/constant").rglob("*"):
        path.touch()
    same = begun("constant", (), tmp_path / "same")
    assert (same.steps_done, same.again, same.complete, same.files) == (7, 0, True, frozenset())
    edited("data/small/train/items.json", changed_item(batch["ids"][0]))
    changed = begun("constant", (), tmp_path / "changed")
    assert (changed.steps_done, changed.again, changed.complete) == (6, 1, False)
    assert changed.is_of_before("steps/step_0007/rollouts.jsonl")
    assert not changed.is_of_before("steps/step_0006/gate.json")


def test_a_finished_run_has_nothing_to_do(project):
    for environment in ({}, {"PYTHONHASHSEED": "7"}):
        assert project.planned(COSINE, CONSTANT, REWRITTEN, env=environment) == set()


def test_a_new_budget_is_what_select_is_told(project):
    before = [step["edit_budget"] for step in plan_of(project, "cosine")["steps"]]
    assert before == [4, 4, 3, 2, 2, 2]
    override = "set=optimizer.lr_scheduler=linear"
    done = project.snakemake("--dry-run", "--printshellcmds", "--config", override, "--", COSINE)
    commands = [line.split() for line in done.stdout.splitlines() if "skillopt select" in line]
    found = {words[words.index("--step") + 1]: words[words.index("--budget") + 1] for words in commands}
    assert found == {"0002": "3", "0003": "3", "0004": "3", "0005": "2", "0006": "2"}


def changed_item(id_):
    def change(content):
        items = json.loads(content)
        for item in items:
            if item["id"] == id_:
                item["question"] += " Please."
        return json.dumps(items).encode()

    return change


def test_an_item_re_runs_from_the_first_step_that_has_it(project, rerun, edited):
    (batch,) = plan_of(project, "constant")["steps"][6]["batches"]
    edited("data/small/train/items.json", changed_item(batch["ids"][0]))
    assert rerun(CONSTANT) == CON.onwards(7)


def test_a_selection_item_re_runs_evaluations_and_no_first_rollout(rerun, edited):
    edited("data/small/val/items.json", lambda content: content.replace(b"?", b" ?", 1))
    assert rerun(COSINE) == COS.baseline() | COS.onwards(1, "evaluate")


def test_a_test_item_re_runs_the_test_alone(rerun, edited):
    edited("data/small/test/items.json", lambda content: content.replace(b"?", b" ?", 1))
    assert rerun(COSINE) == COS.tests() | COS.jobs("summary")


def test_how_a_run_is_carried_out_and_where_its_data_lie_re_runs_nothing(project, rerun):
    shutil.copytree(project.folder / "data/small", project.folder / "data/moved")
    (project.folder / "prices.yaml").write_text("simulated: {prompt: 1, completion: 4}\n")
    overrides = (
        "env.split_dir=data/moved",
        "env.workers=3",
        "env.exec_timeout=77",
        "env.item_timeout=777",
        "gradient.analyst_workers=2",
        "train.train_size=14",
        "evaluation.min_coverage=0.5",
        "calls.timeout=77",
        "calls.max_attempts=2",
        "calls.max_wait=3",
        "calls.systemic_failures=7",
        "calls.answer_attempts=2",
        "calls.preflight_call=false",
        "calls.prices=prices.yaml",
        "budget.max_cost=1",
        "budget.max_tokens=1",
        "budget.max_calls=1",
    )
    assert rerun(COSINE, *overrides) == set()


def test_key_order_comments_and_touched_files_re_run_nothing(project, rerun, edited):
    edited("config/cosine.yaml", lambda content: b"# a comment\n" + b"\n".join(reversed(_sections(content))))
    for part in ("data", "skillopt", "rules", "results/cosine/skills", "results/cosine/steps"):
        for path in (project.folder / part).rglob("*"):
            path.touch()
    (project.folder / "results/cosine/unrelated.txt").write_text("x")
    assert rerun(COSINE) == set()


def _sections(content):
    """Cut a run file into its sections."""
    text = content.decode()
    starts = [i for i, line in enumerate(text.splitlines()) if line and not line.startswith(" ")]
    lines = text.splitlines()
    cuts = [*starts, len(lines)]
    return ["\n".join(lines[a:b]).encode() for a, b in pairwise(cuts)]


def test_another_checkout_re_runs_nothing(project):
    """The workflow and the package lie elsewhere, as after a move or in a new environment."""
    (project.folder / "skillopt").rename(project.folder / "away")
    try:
        snakefile = ("--snakefile", str(ROOT / "Snakefile"))
        done = project.snakemake("--dry-run", *snakefile, "--", COSINE, env={"PYTHONPATH": str(ROOT)})
    finally:
        (project.folder / "away").rename(project.folder / "skillopt")
    assert "Nothing to be done" in done.stdout + done.stderr


PROMPTS = [
    ("skillopt/envs/searchqa/prompts/analyst_failure.md.j2", COS.onwards(1, "reflect")),
    ("skillopt/prompts/analyst_success.md.j2", COS.onwards(1, "reflect")),
    ("skillopt/prompts/merge.md.j2", COS.onwards(1, "aggregate")),
    ("skillopt/prompts/rank.md.j2", COS.onwards(1, "select")),
    ("skillopt/prompts/slow_update.md.j2", COS.end(1) | COS.after(3)),
    ("skillopt/prompts/meta_skill.md.j2", set()),  # nobody reads a memory of the last epoch
    ("skillopt/prompts/rewrite.md.j2", set()),  # used by another update mode
    ("skillopt/envs/searchqa/prompts/target_user.md", everything_by_the_target()),
]
PROMPTS_OF_REWRITING = [
    ("skillopt/prompts/rewrite.md.j2", NEW.onwards(1, "update")),
    ("skillopt/prompts/meta_skill.md.j2", NEW.jobs("meta_skill", at="02") | NEW.onwards(3, "reflect")),
]


@pytest.mark.parametrize(("prompt", "jobs"), PROMPTS, ids=[row[0].rpartition("/")[2] for row in PROMPTS])
def test_an_edited_prompt_re_runs_what_it_feeds(rerun, edited, prompt, jobs):
    edited(prompt, lambda content: content + b"\n")
    assert rerun(COSINE) == jobs


@pytest.mark.parametrize(("prompt", "jobs"), PROMPTS_OF_REWRITING, ids=["rewrite", "meta_skill"])
def test_prompts_of_another_update_mode_and_of_a_run_that_reads_its_memory(rerun, edited, prompt, jobs):
    edited(prompt, lambda content: content + b"\n")
    assert rerun(REWRITTEN) == jobs


def test_another_initial_skill_re_runs_everything_and_its_copy_nothing(project, rerun):
    path = project.folder / "mine.md"
    shutil.copy(ROOT / "skillopt/envs/searchqa/initial.md", path)
    assert rerun(COSINE, "env.skill_init=mine.md") == set()
    path.write_text(path.read_text() + "- A rule by hand.\n")
    assert rerun(COSINE, "env.skill_init=mine.md") == COS.jobs("initial_skill") | everything_by_the_target()


def test_an_edited_skill_re_runs_the_later_steps(rerun, edited):
    edited("results/cosine/skills/skill_v0002.md", lambda content: content + b"- A rule by hand.\n")
    assert rerun(COSINE) == COS.onwards(3)


def test_a_lost_file_that_nothing_needs_re_runs_nothing_and_its_consumer_brings_it_back(project, rerun):
    folder = project.folder / "results/cosine/steps/step_0005"
    kept = {name: (folder / name).read_bytes() for name in ("merged.json", "patch.json")}
    for name in kept:  # they feed only what is there already
        (folder / name).unlink()
    try:
        assert rerun(COSINE) == set()
        jobs = project.planned("results/cosine/steps/step_0005/patch.json")
    finally:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
    assert jobs == COS.jobs("aggregate", "select", at="0005")


def test_the_engine_s_own_report_of_a_finished_run(project):
    """Together with what else reads a finished run and changes nothing."""
    project.snakemake("--report", "report.html", "--", COSINE)
    page = (project.folder / "report.html").read_text(encoding="utf-8")
    assert all(f'"{rule}"' in page for rule in (*CHAIN, *LATER_END, *FINAL))
    done = project.snakemake("--detailed-summary", "--", COSINE)
    states = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    assert {state[-1] for state in states} == {"no update"}
