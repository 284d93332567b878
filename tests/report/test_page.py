"""The report of a run: what it says of a finished, an unfinished, a failed and a hostile run; its size."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import pytest
from madeup import MadeUp
from markupsafe import escape

from skillopt.cli import main
from skillopt.files import read_json, write_json, write_text
from skillopt.records import Gate, MetaSkill, Reflections
from skillopt.report.figures import figures_of
from skillopt.report.page import render_report
from skillopt.report.record import RunRecord

EVIL = '</pre></title></style></svg><script>alert(1)</script>"><img src=x onerror=alert(1)> {{ 7 * 7 }}'


class Page(HTMLParser):
    """The elements of a page, its attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self._pieces = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self._pieces.append(data)

    @property
    def text(self):
        return "".join(self._pieces)

    @property
    def words(self):
        return " ".join(" ".join(self._pieces).split())


def report(folder):
    record = RunRecord(folder)
    return render_report(record, figures_of(record))


def page(folder):
    return Page(report(folder))


@pytest.fixture
def made(tmp_path):
    return MadeUp(tmp_path / "results" / "made")


def test_a_finished_run(made):
    made.whole().called(3)
    found = page(made.folder)
    counts = "steps: 2 accepted, 2 rejected; ends of epochs: 1 without a candidate"
    assert f"the best is 0.250. S{counts[1:]}." in found.words
    assert "0.250 from 0.000; 95%: 0.07 to 0.59; n = 8" in found.words
    assert "0.667 from 0.167" in found.words
    assert f"4 of 4 {counts}" in found.words
    assert "3 3,300 tokens, cost unknown (no price)" in found.words
    assert "No real model played the optimizer and the target." in found.words
    assert "step 3, edit 1" in found.words
    assert "Not there yet" not in found.words
    assert "env.split_dir data " in found.words  # a setting with its origin
    assert "config/made.yaml" in found.text


def test_simulated_calls_cost_nothing(made):
    made.whole().called(3, model="simulated")
    assert "3 3,300 tokens, $0.00" in page(made.folder).words


def test_replayed_calls_are_told_beside_those_that_were_made(made):
    made.whole().called(3)
    assert "more replayed" not in page(made.folder).words
    made.called(2, event="replayed")
    assert "3 3,300 tokens, cost unknown (no price); 2 more replayed" in page(made.folder).words


def test_a_run_that_was_only_interrupted_did_not_fail(made):
    made.step(1)
    note = {"command": "rollout", "exit_code": 130, "message": "interrupted"}
    write_json(made.folder / "logs/step_0002/rollout.failure.json", note)
    found = page(made.folder)
    assert "made interrupted" in found.words
    assert "rollout was interrupted" in found.words
    assert "stopped by a failure" not in found.words
    assert "failed:" not in found.words
    write_json(made.folder / "logs/step_0002/sample.failure.json", note | {"exit_code": 3})
    assert "made stopped by a failure" in page(made.folder).words


def test_each_decision_shows_its_edits_its_diff_and_the_items_that_changed(made):
    made.whole()
    text = page(made.folder).words
    assert "reject hard 0.125 → 0.125" in text
    section = text[text.index("Step 4 ") :]
    assert "reject hard 0.250 → 0.125 batch: 2 of 4 failed; 0 improved, 1 regressed" in section
    assert "1. append applied support 3, from failures + - Rule 4." in section
    assert "+ added - Rule 4." in section
    assert "▼ regressed v1 hard 1.000 → 0.000 what both were told system do it" in section
    assert section.index("current skill result hard 1.000") < section.index("candidate result hard 0.000")
    assert "1 left out by the edit budget append: - Left out." in section
    assert "reflect, failure group of 2: no JSON in the answer" in section


def test_answers_that_could_not_be_used_are_summed_up_at_the_top(made):
    made.whole()
    path = made.folder / "steps/step_0002/reflections.json"
    found = read_json(path, Reflections)
    broken = ("the JSON object is broken: line 1", "the answer is empty", "the JSON object is broken: line 2")
    group = msgspec.structs.replace(found.groups[0], patch=None, problems=broken)
    write_json(path, msgspec.structs.replace(found, groups=(group,)))
    text = page(made.folder).words
    top = text[: text.index("selection, hard")]
    said = "no JSON in the answer (3) the JSON object is broken: line 1 (2) the answer is empty (1)"
    assert (
        f"6 answers of the optimizer could not be used {said} In step 1 , step 2 , step 3 , step 4 ;" in top
    )
    assert "1 minibatch got no answer that could be used." in top
    memory = MetaSkill(epoch=2, action="kept", problems=("the answer is empty",))
    write_json(made.folder / "meta_skill/epoch_02/meta_skill.json", memory)
    text = page(made.folder).words
    assert "7 answers of the optimizer could not be used" in text
    assert "meta_skill: the answer is empty" in text


def test_a_run_whose_answers_could_all_be_used_does_not_speak_of_it(made):
    made.end_of_epoch(1)
    assert "could not be used" not in page(made.folder).words


def test_test_items_are_side_by_side(made):
    made.whole()
    text = page(made.folder).words
    changed = text[text.index("Test items: best skill") :]
    assert "▲ improved x1 hard 0.000 → 1.000" in changed
    assert "x0" not in re.sub(r"answer to x0", "", changed.partition("Failure patterns over time")[0])


def test_an_unfinished_run_says_what_is_missing(made):
    made.step(1)
    write_text(made.folder / "steps/step_0002/rollouts.jsonl", "")
    found = page(made.folder)
    assert "unfinished" in found.words
    lacking = "step 2, end of epoch 1, step 3, step 4, end of epoch 2"
    assert f"decisions that have not been made: {lacking}" in found.text
    assert "test evaluation of the initial, best, last skill" in found.words
    assert "best skill so far" in found.words
    assert "Step 2 not decided yet" in found.words
    assert "0.125 from 0.000" in found.words


def test_a_run_that_has_only_its_configuration(made):
    for path in made.folder.rglob("*"):
        if path.is_file() and path.name != "config.json":
            path.unlink()
    found = page(made.folder)
    assert "the plan (plan.json)" in found.words
    assert "There is no skill yet." in found.words
    assert "No score yet." in found.words


def test_a_failure_and_a_broken_file_are_shown_and_the_rest_too(made):
    made.whole()
    note = {"command": "rollout", "exit_code": 3, "message": "wrong key at https://example.org"}
    write_json(made.folder / "logs/step_0004/rollout.failure.json", note)
    write_text(made.folder / "steps/step_0002/update.json", '{"step": 2,')
    found = page(made.folder)
    assert "stopped by a failure" in found.words
    assert "rollout failed: provider dead wrong key at https://example.org" in found.words
    assert "steps/step_0002/update.json: expected a Update record" in found.words
    assert "Step 4 ✕ reject" in found.words


def test_a_summary_of_other_settings_is_said_and_one_of_other_workers_is_not(made):
    made.whole()
    other = MadeUp(made.folder.parent / "other", overrides=("env.workers=2",))
    write_json(made.folder / "config.json", other.resolved)
    assert "The configuration has changed since" not in page(made.folder).words
    other = MadeUp(made.folder.parent / "other", overrides=("evaluation.gate_metric=soft",))
    write_json(made.folder / "config.json", other.resolved)
    assert "summary.json was written with other metric than config.json" in page(made.folder).words


def test_html_in_everything_is_text(tmp_path):
    name = '"><img src=x onerror=alert(1)>'
    model = ("model.target_backend=openai_compatible", f"model.target={EVIL.replace(' ', '')}")
    model += ("model.openai_compatible_base_url=http://localhost:1/v1",)
    made = MadeUp(tmp_path / "results" / name, say=lambda text: f"{text} {EVIL}", overrides=model)
    made.whole().called()
    write_json(made.folder / "logs/x.failure.json", {"command": EVIL, "exit_code": 1, "message": EVIL})
    html = report(made.folder)
    found = Page(html)
    assert {"script", "img", "iframe", "link", "object", "form"} & set(found.tags) == set()
    assert [key for key, _ in found.attributes if key.startswith("on")] == []
    assert html.count("<style>") == 1
    assert found.text.count("<script>alert(1)</script>") > 60
    for part in ("- Rule 1.", "question v1", "answer to x1", "a rule is missing", "the most general first"):
        assert part in found.text
    assert EVIL in found.text
    assert "{{ 7 * 7 }}" in found.text
    assert f"<h1>{escape(name)}</h1>" in html


def test_nothing_is_asked_of_the_network(made):
    made.whole()
    found = page(made.folder)
    targets = [value for key, value in found.attributes if key in ("src", "href", "action", "srcset", "data")]
    assert targets
    assert [t for t in targets if not t.startswith(("#", "figures/"))] == []
    assert [value for key, value in found.attributes if key == "content" and "default-src 'none'" in value]


def test_headings_have_no_gap_and_links_lead_somewhere(made):
    made.whole()
    found = page(made.folder)
    levels = [int(tag[1]) for tag in found.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    ids = [value for key, value in found.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    inner = {value[1:] for key, value in found.attributes if key == "href" and value.startswith("#")}
    assert inner <= set(ids)
    labels = {part for key, value in found.attributes if key == "aria-labelledby" for part in value.split()}
    assert labels <= set(ids)


def test_what_is_said_of_a_table_does_not_scroll_with_it(made):
    made.whole().called(3)
    html = report(made.folder)
    found = Page(html)
    told = {value for key, value in found.attributes if key == "aria-describedby"}
    assert {"scores-about", "calls-about"} <= told
    assert all(f'<p class="small" id="{name}">' in html for name in told)  # above the box that scrolls
    assert "caption" not in found.tags


def test_forty_steps_with_two_hundred_items_stay_small(tmp_path):
    made = MadeUp(tmp_path / "results" / "big", epochs=4, per_epoch=10, val=200, gain=9, length=2_000)
    made.whole()
    html = report(made.folder)
    assert len(html.encode()) < 9_000_000
    found = Page(html)
    assert "40 of 40" in found.words
    assert "more changed, left out here to keep the page small" in found.words


def test_the_command_writes_page_and_figures(made, capsys):
    made.step(1)
    assert main(["report", str(made.folder)]) == 0
    assert made.folder.joinpath("report.html").read_text().startswith("<!doctype html>")
    figures = sorted(path.name for path in made.folder.joinpath("figures").iterdir())
    keys = ("learning", "patterns", "scores", "task_types", "usage")
    assert figures == [f"{key}.{kind}" for key in keys for kind in ("csv", "svg")]
    assert main(["report", str(made.folder.parent)]) == 2
    assert "expected the folder of a run" in capsys.readouterr().err


def test_what_was_not_done_for_a_candidate_given_up_stands_alone_or_after_what_changed(tmp_path):
    made = MadeUp(tmp_path / "results" / "made")
    made.whole()
    for name, changed in (("steps/step_0004/gate.json", ("i1",)), ("slow_update/epoch_02/gate.json", ())):
        gate = read_json(made.folder / name, Gate)
        given_up = msgspec.structs.replace(gate, left_out=3, at_most=0.5, improved=(), regressed=changed)
        write_json(made.folder / name, given_up)
    text = Page(report(made.folder)).text
    said = re.findall(r"[^\n]*3 not done \(it could not win\)", text)
    assert [line.strip().partition(" failed")[2] for line in said if "failed" in line] == [
        "; 0 improved, 1 regressed; 3 not done (it could not win)"
    ]
    assert [line.strip() for line in said if "failed" not in line] == ["3 not done (it could not win)"]
