"""A candidate that cannot win is given up early, and nothing is decided otherwise: whole simulated runs."""

from pathlib import Path

import pytest
from modes import (
    calls_are_those_of_the_forecast,
    holds_together,
    make,
    read,
    rows,
    shared_is_paid_once,
    steps,
)

MODES = {
    "early": {"evaluation": ", early_reject: all", "optimizer": ", use_slow_update: false"},
    "guided": {"epochs": 3},
    "guided_whole": {"epochs": 3, "evaluation": ", early_reject: none"},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("modes") / "project", MODES)


@pytest.mark.parametrize("name", MODES)
def test_a_run_holds_together(results, name):
    holds_together(results, name)


@pytest.mark.parametrize("name", MODES)
def test_the_calls_of_a_run_are_those_of_its_forecast(results, name, monkeypatch):
    monkeypatch.chdir(results.parent)
    calls_are_those_of_the_forecast(results, name)


def test_runs_in_one_command_pay_once_for_what_they_share(results):
    shared_is_paid_once(results, MODES)


def test_a_candidate_that_cannot_win_is_given_up(results):
    given_up = 0
    current = {row["id"] for row in rows(results, "early", "eval/val/initial/rollouts.jsonl")}
    for gate in steps(results, "early"):
        done = {row["id"] for row in rows(results, "early", f"steps/step_{gate['step']:04d}/selection.jsonl")}
        assert done <= current
        if gate["candidate"] is None or gate["reused_from"]:
            continue
        assert gate["left_out"] == len(current - done)
        if gate["left_out"]:
            given_up += 1
            assert gate["action"] == "reject"
            assert gate["digest"]["given_up"]
            assert gate["at_most"] == gate["digest"]["score_after"] <= gate["compared"]["value"]
            assert (gate["candidate"]["n"], gate["candidate"]["total"]) == (len(done), len(current))
            assert {*gate["improved"], *gate["regressed"]} <= done
            assert gate["candidate_sha256"] not in gate["state"]["scored"]
    assert given_up
    events = read(results, "early", "history.json")
    assert sum(event["left_out"] > 0 for event in events) == given_up
    assert sum(event["at_most"] is not None for event in events) == given_up


def test_guidance_that_is_given_up_early_changes_nothing_but_what_is_known_of_it(results):
    left_out = 0
    for epoch in (2, 3):
        place = f"slow_update/epoch_{epoch:02d}"
        early, whole = (read(results, name, f"{place}/gate.json") for name in ("guided", "guided_whole"))
        assert (early["action"], early["state"]["current"]) == (whole["action"], whole["state"]["current"])
        assert whole["left_out"] == 0
        some, all_ = (rows(results, name, f"{place}/selection.jsonl") for name in ("guided", "guided_whole"))
        assert [row for row in all_ if row in some] == some
        assert early["left_out"] == len(all_) - len(some)
        left_out += early["left_out"]
    assert left_out
    for path in sorted((results / "guided").glob("s*/**/*.md")):
        assert (
            path.read_bytes()
            == (results / "guided_whole" / path.relative_to(results / "guided")).read_bytes()
        )
    assert read(results, "guided", "best_skill.json") == read(results, "guided_whole", "best_skill.json")
