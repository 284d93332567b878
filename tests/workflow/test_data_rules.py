"""The real data of a benchmark as a target: fetched, refused, and what a run says without them."""

import json

import pyarrow
import pyarrow.parquet
import pytest
from project import Job, Project

TARGET = "data/paper/searchqa/split_manifest.json"
SPLITS = {"train": ["k3", "k1", "k2"], "val": ["k4"], "test": ["k5"]}
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("data") / "project")
    for split, ids in SPLITS.items():
        path = made.folder / "manifests/searchqa_id_split" / split / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{"id": id_} for id_ in ids]))
    keys = [f"k{n}" for n in range(9)]
    columns = {
        "key": keys,
        "question": [f"What is {key}?" for key in keys],
        "context": [f"[DOC] {key} it is." for key in keys],
        "answers": [[key] for key in keys],
    }
    (made.folder / "source files").mkdir()
    pyarrow.parquet.write_table(pyarrow.table(columns), made.folder / "source files/all.parquet")
    return made


def said(done):
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert "Traceback (most recent call last)" not in text
    return text


def test_a_run_without_its_data_names_the_command_that_fetches_them(project):
    text = said(project.snakemake("--dry-run", "--", "results/searchqa_paper/best_skill.md", check=False))
    assert "found none at 'data/paper/searchqa'" in text
    assert "by: skillopt materialise searchqa" in text


def test_a_missing_manifest_names_the_commands_that_fetch_it(project):
    text = said(project.snakemake("--", TARGET, check=False))
    assert "expected its split manifest (train/, val/, test/) at original/data/searchqa_id_split" in text
    assert "git clone --depth 1 https://github.com/microsoft/SkillOpt original" in text


def test_without_network_it_says_what_is_missing_and_nothing_stays(project):
    text = said(project.snakemake("--config", "manifests=manifests", "--", TARGET, env=OFFLINE, check=False))
    assert "its data cannot be read from lucadiliello/searchqa (revision main)" in text
    assert "Missing: the items that the split manifest names. With a network, run" in text
    assert "  skillopt materialise searchqa" in text
    left = [path.name for path in (project.folder / "data/paper").rglob("*") if path.is_file()]
    assert set(left) <= {"materialise.log", "materialise.failure.json"}
    assert not list((project.folder / "data/paper").glob(".*"))


def test_fetched_once_and_then_trained_on_by_the_published_protocol(project):
    given = ("--config", "manifests=manifests", "source=source files")
    project.snakemake(*given, "--", TARGET, env=OFFLINE)
    train = json.loads((project.folder / "data/paper/searchqa/train/items.json").read_text())
    assert [item["id"] for item in train] == SPLITS["train"]
    assert project.snakemake("--dry-run", *given, "--", TARGET).stdout.count("rule materialise") == 0
    wrong = project.snakemake("--dry-run", "--", "results/searchqa_paper/best_skill.md", check=False)
    assert "expected the size of the train split (3, after env.limit) or 0, found 400" in said(wrong)
    jobs = project.planned("results/searchqa_paper/best_skill.md", overrides=["train.train_size=0"])
    assert {job.at for job in jobs if job.rule == "rollout"} == {"0001", "0002", "0003", "0004"}
    assert Job("searchqa_paper", "best_skill") in jobs
