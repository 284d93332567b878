"""Dry runs before anything ran: size, other folders, several runs, refused configurations."""

import json
import re

import pytest
from project import ROOT, Job, Project

RUN = """
train: {{num_epochs: {epochs}, batch_size: {batch}}}
env: {{name: searchqa, split_mode: split_dir, split_dir: {data}}}
"""
FILES = ("rollouts.jsonl", "reflections.json", "merged.json", "patch.json", "candidate.md", "gate.json")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("planning") / "project")
    made.sample("small", 8, 4, 4)
    for name in ("one", "two"):
        made.write_run(name, RUN.format(epochs=1, batch=4, data="data/small"))
    made.write_run("broken", "train: {num_epoch: 1}\nenv: {name: searchqa}\n")
    return made


def test_a_dry_run_works_in_an_empty_project_without_any_key(project):
    keys = {"OPENAI_COMPATIBLE_API_KEY": "", "OPENAI_API_KEY": ""}
    remote = ("model.backend=openai_compatible", "model.openai_compatible_base_url=https://example.org/v1")
    jobs = project.planned("results/one/best_skill.md", overrides=remote, env=keys)
    assert Job("one", "best_skill") in jobs
    assert {job.at for job in jobs if job.rule == "rollout"} == {"0001", "0002"}
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    ("overrides", "compared", "memories"),
    [
        ((), {"02", "03"}, {"02"}),
        (("optimizer.use_meta_skill=false",), {"02", "03"}, set()),
        (("optimizer.use_slow_update=false",), {"02"}, {"02"}),
    ],
)
def test_the_ends_of_epochs_and_no_memory_that_nobody_reads(project, overrides, compared, memories):
    jobs = project.planned("results/one/summary.json", overrides=("train.num_epochs=3", *overrides))

    def at(rule):
        return {job.at for job in jobs if job.rule == rule}

    assert at("sample") == at("compare") == compared
    assert at("meta_skill") == memories


def test_several_runs_in_one_command_and_a_broken_one_keeps_only_itself_from_running(project):
    jobs = project.planned("results/one/best_skill.md", "results/two/best_skill.md")
    assert {job.run for job in jobs} == {"one", "two"}
    done = project.snakemake("--dry-run", "--", "results/broken/best_skill.md", check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "train.num_epoch" in said
    assert "num_epochs" in said
    assert "Traceback (most recent call last)" not in said


WRONG = [
    ("train.num_epoch=2 train.num_epochs=two", ["num_epochs", "whole number"]),
    ("train.num_epochs='2", ["--config set: No closing quotation"]),
    ("env.skill_init=nowhere.md", ["expected a skill file, found nothing at nowhere.md"]),
]


@pytest.mark.parametrize(("overrides", "said"), WRONG)
def test_an_override_is_checked_like_a_file(project, overrides, said):
    done = project.snakemake(
        "--dry-run", "--config", f"set={overrides}", "--", "results/one/best_skill.md", check=False
    )
    assert done.returncode != 0
    assert [words for words in said if words not in done.stdout + done.stderr] == []


@pytest.mark.parametrize("key", ["set", "skills", "runs"])
def test_an_empty_value_of_the_command_is_none(project, key):
    project.snakemake("--dry-run", "--config", f"{key}=", "--", "results/one/best_skill.md")


def test_another_working_directory(project, tmp_path):
    done = project.snakemake("--dry-run", "--directory", str(tmp_path), "--", "results/one/best_skill.md")
    assert "rollout" in done.stdout
    assert not (tmp_path / "results").exists()
    project.snakemake("--directory", str(tmp_path), "--", "results/one/skills/skill_v0000.md")
    assert (tmp_path / "results/one/config.json").exists()
    assert not (project.folder / "results").exists()


def test_the_catalog_s_snakefile_has_the_same_default_target(project):
    project.write_run("searchqa", RUN.format(epochs=1, batch=4, data="data/small"))
    done = project.snakemake("--dry-run", "--snakefile", "workflow/Snakefile")
    assert "rule summary" in done.stdout


def test_a_thousand_steps_are_planned(project):
    for split, count in (("train", 4000), ("val", 3), ("test", 3)):
        items = [
            {"id": f"{split}{n}", "question": f"Q{n}?", "context": f"[DOC] {split} {n}", "answers": [str(n)]}
            for n in range(count)
        ]
        path = project.folder / "data/large" / split / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(items), encoding="utf-8")
    project.write_run("large", RUN.format(epochs=10, batch=40, data="data/large"))
    targets = ("results/large/slow_update/epoch_10/skill.md", "results/large/best_skill.md")
    done = project.snakemake("--summary", "--", *targets)  # half the time of a dry run, and the same graph
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    assert {row[-1] for row in rows} == {"update pending"}
    planned = {row[0] for row in rows}
    for step in range(1, 1001):
        assert {f"results/large/steps/step_{step:04d}/{name}" for name in FILES} <= planned
    assert {f"results/large/slow_update/epoch_{epoch:02d}/gate.json" for epoch in range(1, 11)} <= planned


RISKY = r"^checkpoint\b|\b(?:directory|temp|protected|scattergather)\(|^ +(?:retries|cache): "


def test_nothing_of_the_engine_that_loses_or_doubts_paid_results_is_used():
    """Outputs that it deletes, protects in name only or takes for whole, and graphs that are not static."""
    rules = sorted((ROOT / "rules").glob("*.smk"))
    assert len(rules) > 7
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*rules, ROOT / "Snakefile")}
    found = {name: re.findall(RISKY, text, re.MULTILINE) for name, text in texts.items()}
    assert not any(found.values()), found
    profiles = sorted((ROOT / "profiles").glob("*/*.yaml"))
    assert ROOT / "profiles/default/profile.yaml" in profiles
    assert [path for path in profiles if "keep-incomplete" in path.read_text(encoding="utf-8")] == []
