"""The report in the workflow: made at the end, remade when the run changes, shown by the engine."""

import os
import subprocess
import sys

import pytest
from project import Job, Project

from skillopt.errors import ExitCode

RUN = """
train: {num_epochs: 1, batch_size: 4}
gradient: {minibatch_size: 4}
env: {name: searchqa, split_mode: split_dir, split_dir: data/small}
"""
FIGURES = ("learning", "scores", "task_types", "patterns", "usage")
REPORT = "results/small/report.html"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("report") / "project")
    made.sample("small", 4, 4, 4)
    made.write_run("small", RUN)
    made.snakemake("--quiet", "rules", "--config", "runs=small")
    return made


def test_the_default_target_writes_the_page_and_the_figures(project):
    run = project.folder / "results/small"
    page = run.joinpath("report.html").read_text(encoding="utf-8")
    assert "<h1>small</h1>" in page
    assert "Not there yet" not in page
    assert sorted(path.name for path in run.joinpath("figures").iterdir()) == sorted(
        f"{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")
    )


def test_nothing_is_done_again_for_a_setting_that_decides_nothing(project):
    (project.folder / "prices.yaml").write_text("simulated: {prompt: 1, completion: 4}\n")
    assert project.planned(REPORT, overrides=["env.workers=2", "calls.prices=prices.yaml"]) == frozenset()


def test_another_test_split_is_evaluated_and_reported(project):
    jobs = project.planned(REPORT, overrides=["evaluation.test_env_num=2"])
    assert {job.rule for job in jobs} == {"evaluate_split", "summary", "report"}
    assert Job("small", "report") in jobs


def test_a_lost_figure_is_drawn_again_alone(project):
    figure = project.folder / "results/small/figures/scores.svg"
    before = figure.read_bytes()
    figure.unlink()
    assert project.planned(REPORT, "results/small/figures/scores.svg") == {Job("small", "report")}
    project.snakemake("--quiet", "rules", "--", "results/small/figures/scores.svg")
    assert figure.read_bytes() == before


def test_a_lost_summary_is_made_again_by_the_same_command(project):
    summary = project.folder / "results/small/summary.json"
    before = summary.read_bytes()
    summary.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "skillopt", "train", "small", "--cores", "2"],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(project.folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode != ExitCode.UNFINISHED, done.stderr
    assert summary.read_bytes() == before


def test_the_engine_shows_every_result_with_its_caption(project):
    project.snakemake("--report", "engine.html", "--", REPORT)
    shown = project.folder.joinpath("engine.html").read_text(encoding="utf-8")
    for name in ("report", "best_skill", "history", *FIGURES):
        caption = project.folder.joinpath(f"workflow/report/{name}.rst").read_text(encoding="utf-8")
        words = caption.replace("{{ snakemake.wildcards.run }}", "small").split()
        assert " ".join(words[:5]) in " ".join(shown.split()), name
    assert "A skill document is trained for a frozen language-model agent" in " ".join(shown.split())
