"""Skills evaluated by name or file, with and without training."""

import json
import shutil
from collections import Counter

import pytest
from endpoint import Answer
from loop import KEYS, kind_of, model
from project import Job, jobs_in
from project import Project as Checkout

from skillopt.envs.searchqa import ENVIRONMENT

RULES = "# Rules\n\n- RULE 1: look.\n"
RUN = """
train: {num_epochs: 1, batch_size: 8}
optimizer: {use_slow_update: false, use_meta_skill: false}
env: {name: searchqa, split_mode: split_dir, split_dir: data/small}
evaluation: {repeats: 2, skills: {none: "", mine: mine.md, best: ""}}
"""


def evaluate(project, *arguments):
    return project.start("skillopt", "eval", "loop", *arguments).wait()


def test_files_are_evaluated_without_training_and_training_pays_for_nothing_again(project, server):
    project.configure(train__num_epochs=1)
    shutil.copy(ENVIRONMENT.initial_skill, project.folder / "start.md")
    (project.folder / "my rule.md").write_text(RULES)
    command = ("--skill", "none", "start.md", "rule=my rule.md", "--split", "valid_unseen", "val")
    done = evaluate(project, *command)
    assert done.code == 0, done.text
    assert Counter(map(kind_of, server.calls)) == {"target": 24}
    key = {call.headers["authorization"] for call in server.calls}
    assert key == {f"Bearer {KEYS['TARGET_OPENAI_COMPATIBLE_API_KEY']}"}
    assert [project.read(f"eval/test/{name}/scores.json")["overall"]["score"]["hard"] for name in
            ("none", "start", "rule")] == [0.0, 0.0, 0.5]  # fmt: skip
    assert "rule against none: 2 improved, 0 regressed of 4" in done.text
    assert "loop, val split" in done.text
    assert project.read("eval/test/comparison.json")["comparisons"][1]["improved"] == [
        row["id"] for row in project.rows("eval/test/rule/rollouts.jsonl") if row["hard"]
    ]
    shown = (project.results / "eval/test/table.txt").read_bytes()
    protocols = [project.read(f"eval/test/{name}/scores.json")["protocol"] for name in ("none", "rule")]
    assert protocols[0] == protocols[1]
    assert protocols[0]["items"] == project.read("plan.json")["splits"]["test"]["sha256"]
    assert protocols[0]["settings"]["env.max_turns"] == 1
    assert protocols[0]["settings"]["target"]["backend"] == "openai_compatible"

    paid = {call.raw for call in server.calls}
    server.calls.clear()
    shutil.rmtree(project.results / "eval")
    assert evaluate(project, *command).code == 0
    assert server.calls == []
    assert (project.results / "eval/test/table.txt").read_bytes() == shown

    # What training asks for the initial skill is what was asked for a copy of it, to the byte.
    assert project.train().code == 0
    assert len(project.rows("eval/test/initial/rollouts.jsonl")) == 4
    assert not paid & {call.raw for call in server.calls}
    assert server.repeated == 0


def test_repeats_draw_fresh_samples_and_more_of_them_buy_only_the_new_ones(project, server):
    asked = Counter()

    def moody(call):
        """Right about everything the second time it is asked, and wrong the first and third time."""
        asked[call.raw] += 1
        answer = model(call)
        if "thing" in call.prompt and asked[call.raw] == 2:
            number = call.prompt.split("What is thing ")[1].split()[0]
            return Answer(text=f"<answer>gold {number}</answer>")
        return answer

    server.reset(moody)
    (project.folder / "mine.md").write_text("Nothing.\n")
    done = evaluate(project, "--skill", "mine.md", "--split", "train", "--repeats", "3")
    assert done.code == 0, done.text
    assert set(asked.values()) == {3}
    found = project.read("eval/train/mine/repeats.json")
    assert found["overall"]["hard"]["values"] == [0.0, 1.0, 0.0]
    assert found["overall"]["hard"]["mean"] == pytest.approx(1 / 3)
    assert found["overall"]["hard"]["deviation"] == pytest.approx((1 / 3) ** 0.5)
    assert found["stability"] == {"always_right": 0, "sometimes_right": 6, "never_right": 0}
    assert [row["sample"] for row in project.rows("eval/train/mine/repeats.jsonl")] == [1] * 6 + [2] * 6
    assert "0.333 ± 0.577 (3x)" in done.text
    assert "to pay for" not in done.text  # a forecast of the training, which is not done
    assert project.read("eval/train/mine/scores.json")["overall"]["score"]["hard"] == 0.0

    server.calls.clear()
    assert evaluate(project, "--skill", "mine.md", "--split", "train", "--repeats", "4").code == 0
    assert len(server.calls) == 6
    assert project.read("eval/train/mine/repeats.json")["repeats"] == 4


def test_a_provider_that_fails_is_no_score(project, server):
    server.reset(lambda call: Answer(status=401, text="no"))
    (project.folder / "mine.md").write_text(RULES)
    done = evaluate(project, "--skill", "mine.md", "--set", "calls.systemic_failures=2")
    assert done.code == 3, done.text
    assert not (project.results / "eval/test/table.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--skill", "gone.md"),
            "skill gone: expected none, initial, best, last or a file, found no file at gone.md",
        ),
        ((), "expected skills to evaluate, found none"),
        (("--skill", "none", "--split", "valid"), "expected a split out of"),
        (("--skill", "none", "--repeats", "0"), "evaluation.repeats: expected a whole number (1 or more)"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_at_once(project, server, arguments, said):
    done = evaluate(project, *arguments)
    assert done.code == 2
    assert said in done.text
    assert server.calls == []


def test_broken_markers_name_file_and_line(project, server):
    (project.folder / "mine.md").write_text("a\n<!-- SLOW_UPDATE_START -->\n")
    done = evaluate(project, "--skill", "mine.md")
    assert done.code == 2
    assert "mine.md: " in done.text
    assert "line 2" in done.text
    assert server.calls == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    made = Checkout(tmp_path_factory.mktemp("evaluation") / "project")
    made.sample("small", 8, 4, 4)
    made.write_run("one", RUN)
    (made.folder / "mine.md").write_text(RULES)
    return made


def test_a_named_skill_is_a_target_that_needs_no_training(checkout):
    jobs = checkout.planned("results/one/eval/train/mine/scores.json")
    assert jobs == {Job("one", "evaluate_split", "train/mine")}
    assert checkout.planned("results/one/eval/val/initial/scores.json") == {
        Job("one", "preflight"),
        Job("one", "initial_skill"),
        Job("one", "evaluate_initial"),
    }


def test_a_table_has_the_skills_of_the_configuration(checkout):
    jobs = checkout.planned("results/one/eval/val/table.txt")
    evaluations = {(job.rule, job.at) for job in jobs if job.at.startswith(("val/", "test/"))}
    names = ("none", "mine", "best")
    assert evaluations == {(rule, f"val/{name}") for rule in ("evaluate_split", "repeat") for name in names}
    assert Job("one", "best_skill") in jobs


def test_training_repeats_its_test_evaluations(checkout):
    jobs = checkout.planned("results/one/summary.json")
    repeated = {job.at for job in jobs if job.rule == "repeat"}
    assert repeated == {"test/initial", "test/best", "test/last"}


def test_a_command_that_names_skills_repeats_no_other_one(checkout):
    def repeated(*skills):
        given = json.dumps(dict.fromkeys(skills, ""))
        options = ("--config", f"skills={given}", "--dry-run")
        done = checkout.snakemake(*options, "--", "results/one/eval/test/table.txt")
        return {job.at for job in jobs_in(done.stdout + done.stderr) if job.rule == "repeat"}

    assert repeated("none", "best") == {"test/none", "test/best"}
    assert repeated("initial", "best") == {"test/initial", "test/best"}


def test_the_summary_has_the_spread_and_only_what_training_did(checkout):
    checkout.snakemake("--quiet", "all", "--", "results/one/eval/test/table.txt")
    checkout.snakemake("--quiet", "all", "--", "results/one/summary.json")
    summary = json.loads((checkout.folder / "results/one/summary.json").read_text())
    assert summary["skills"]["best"]["test_repeats"]["repeats"] == 2
    assert summary["usage"]["target"]["repeat"]["calls"] % 4 == 0
    test_calls = summary["usage"]["target"]["evaluate_test"]["calls"]
    assert test_calls <= 12  # initial, best, last; `none` and `mine` are no part of the training
    assert checkout.planned("results/one/summary.json", "results/one/eval/test/table.txt") == set()
    table = (checkout.folder / "results/one/eval/test/table.txt").read_text()
    assert [line.split(" against ")[0] for line in table.splitlines() if " against " in line] == [
        "mine",
        "best",
    ]


def test_a_result_that_is_named_as_a_file_is_taken_as_it_is(checkout):
    result = checkout.folder / "results/other/best_skill.md"
    result.parent.mkdir(parents=True)
    result.write_text(RULES)
    options = ("--config", f"skills={{other: {result.relative_to(checkout.folder)}}}", "--dry-run")
    done = checkout.snakemake(*options, "--", "results/one/eval/test/other/scores.json")
    assert jobs_in(done.stdout) == {Job("one", "evaluate_split", "test/other")}


def test_files_that_say_the_same_are_evaluated_one_after_the_other(checkout):
    shutil.copy(checkout.folder / "mine.md", checkout.folder / "my copy.md")
    checkout.snakemake(
        "--quiet",
        "all",
        "--config",
        "skills={mine: mine.md, copy: my copy.md}",
        "--",
        "results/one/eval/train/table.txt",
    )
    scores = json.loads((checkout.folder / "results/one/eval/train/copy/scores.json").read_text())
    assert scores["reused_from"] == "results/one/eval/train/mine/rollouts.jsonl"
    table = (checkout.folder / "results/one/eval/train/table.txt").read_text()
    assert "copy against mine: 0 improved, 0 regressed of 8 (McNemar, exact, p = 1)" in table


def test_an_unknown_skill_is_named_with_the_known_ones(checkout):
    done = checkout.snakemake("--dry-run", "--", "results/one/eval/test/mien/scores.json", check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "skill 'mien': expected one of none, initial, best, last, mine" in said
    assert "Traceback (most recent call last)" not in said
