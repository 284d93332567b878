"""Everything that a provider or an optimizer can do wrong, in a whole run over real HTTP."""

import json
from collections import Counter

import pytest
from endpoint import Answer
from killing import same_result
from loop import CANARY, ROOT, Hold, is_optimizer, kind_of, leaks, model
from standing import standing

SHORT = {"train__num_epochs": 1, "evaluation__eval_test": False, "optimizer__use_slow_update": False}
OFF = {"calls__preflight_call": False}


def refused(call, status=500):
    """An error in which the provider repeats the key that it was sent."""
    key = call.headers["authorization"].split()[-1]
    return Answer(status=status, error=f"overheated: Bearer {key}, key={key}, {key}")


def test_no_key_reaches_a_file_or_a_prompt(finished, server):
    assert leaks(finished) == []
    assert finished.output.count(CANARY) == 0
    assert len(list(finished.folder.rglob("*"))) > 100


def test_a_run_says_first_what_its_gate_can_see(finished):
    assert finished.output.startswith("the gate: with 4 selection items, hard moves in steps of 0.25\n")


def test_a_key_in_a_configuration_is_refused_and_never_repeated(project, server):
    key = f"{CANARY}-in-the-file"
    project.configure(model__openai_compatible_api_key=key)
    running = project.train()
    assert running.code == 2, running.text
    assert "OPENAI_COMPATIBLE_API_KEY" in running.text
    assert CANARY not in running.text
    assert leaks(project) == [str(project.folder / "config" / "loop.yaml")]
    assert server.calls == []


def test_every_transient_fault_once_changes_nothing(finished, project, server):
    """Retries heal them all: the result is that of a run that nothing disturbed."""
    transient = [
        lambda call: Answer(status=429, error="slow down", headers={"Retry-After": "0"}),
        refused,
        lambda call: Answer(drop=True),
        lambda call: Answer(text=""),
        lambda call: Answer(raw="<html>Bad gateway</html>"),
        lambda call: Answer(raw='{"choices": []}'),
        lambda call: Answer(raw=json.dumps({"error": {"message": call.headers["authorization"]}})),
        lambda call: Answer(text="half", finish_reason="error"),
    ]
    failed = Counter()

    def rule(call):
        fault = failed.total()
        if fault < 3 * len(transient) and not failed[call.raw]:
            failed[call.raw] += 1
            return transient[fault % len(transient)](call)
        return model(call)

    server.reset(rule)
    running = project.train()
    assert running.code == 0, running.text
    assert failed.total() == 3 * len(transient)
    assert len(server.calls) == finished.call_count + failed.total()
    assert server.repeated == 0
    assert project.files() == finished.files()
    assert leaks(project) == []
    totals = sum(entry["failed"] for entry in project.read("calls.json")["totals"])
    assert totals == failed.total()


def test_faults_of_single_items_are_rows_and_never_scores(project, server):
    project.configure(**SHORT, **OFF, evaluation__min_coverage=0.6, train__batch_size=6)
    bad = {
        1: Answer(status=500, error="broken"),
        2: Answer(text="thinking about <answer>gol", finish_reason="length"),
        3: Answer(text="<answer>gold 3"),
        4: Answer(status=400, error="context too long"),
    }

    def rule(call):
        thing = next((n for n in bad if f"What is thing {n} of" in call.prompt), None)
        return bad[thing] if kind_of(call) == "target" and thing else model(call)

    server.reset(rule)
    running = project.train()
    assert running.code == 0, running.text
    rows = {row["id"].partition(" ")[2]: row for row in project.rows("steps/step_0001/rollouts.jsonl")}
    found = [rows[name] for name in ("a/b", "../up", "späte ü", "{{ x }}", "q'\"", "-n")]
    assert [row["status"] for row in found] == [
        *("provider_error", "truncated", "unparsed", "provider_error", "scored", "scored")
    ]
    assert [row["hard"] for row in found] == [None, 0.0, 0.0, None, 0.0, 0.0]
    assert found[0]["error"]["kind"] == "http_500"
    reflections = project.read("steps/step_0001/reflections.json")
    assert (reflections["rows"], reflections["failed"], reflections["unscored"]) == (6, 4, 2)
    seen = "\n".join(call.prompt for call in server.calls if is_optimizer(call))
    assert "train ../up" in seen
    assert "train a/b" not in seen
    assert not any(f"{split} a/b" in seen for split in ("val", "test"))


def test_low_coverage_ends_with_its_code_and_only_what_is_missing_is_paid_for(project, server):
    project.configure(**SHORT)
    broken = True

    def rule(call):
        if broken and "What is thing 7 of" in call.prompt:
            return refused(call)
        return model(call)

    server.reset(rule)
    running = project.train()
    assert running.code == 4, running.text
    assert "3 of 4 items have a score" in running.text
    assert "provider_error: HTTP 500: overheated" in running.text
    assert "only what is missing is paid for" in running.text
    assert project.status() == 4
    assert not (project.results / "steps/step_0000/gate.json").exists()
    assert leaks(project) == []
    before = len(server.calls)
    broken = False
    running = project.train()
    assert running.code == 0, running.text
    assert server.repeated == 0
    assert sum("What is thing 7 of" in call.prompt for call in server.calls[before:]) == 2  # both skills
    assert project.status() == 0


@pytest.mark.parametrize("preflight", [True, False])
def test_a_dead_provider_stops_after_a_few_calls(project, server, preflight):
    settings = SHORT | {"evaluation__eval_test": preflight}  # the test under the initial skill waits, too
    project.configure(**settings, calls__preflight_call=preflight, calls__systemic_failures=3)
    server.reset(lambda call: refused(call, 401))
    running = project.train()
    assert running.code == 3, running.text
    assert "HTTP 401" in running.text
    assert len(server.calls) <= (2 if preflight else 2 * (3 + 3))  # two phases, each 3 and those in flight
    assert preflight == (not (project.results / "logs/step_0001").exists())
    assert not list(project.results.glob("**/*.jsonl"))
    assert not (project.results / "best_skill.md").exists()
    assert project.status() == 3
    assert leaks(project) == []
    assert CANARY not in running.text


OUTAGES = ("rollout", "reflect", "aggregate", "slow_update", "meta_skill", "sample", "compare")


@pytest.mark.parametrize("phase", OUTAGES)
def test_an_outage_in_any_phase_ends_with_its_code_and_a_message(finished, server, phase):
    command = finished.commands_of[phase]
    before = finished.files()
    server.reset(lambda call: refused(call, 503))
    running = finished.start("bash", "-c", f"skillopt {command} --store elsewhere").wait()
    assert running.code == (4 if phase == "compare" else 3), (
        running.text
    )  # half of what is compared has scores
    assert "HTTP 503" in running.text
    assert "Traceback" not in running.text
    assert "un the same command again" in running.text
    note = next(finished.results.glob(f"logs/**/{phase}.failure.json"))
    assert json.loads(note.read_text())["exit_code"] == running.code
    assert finished.files() == before
    note.unlink()
    assert standing(finished.results).complete, "a job that changed nothing is as done as before"


def test_an_outage_of_the_analysts_of_failures_is_no_run_without_proposals(project, server):
    """Those of successes answer, with nothing to change, as they do in a good run."""
    project.configure(**SHORT)
    server.reset(lambda call: refused(call, 503) if kind_of(call) == "failure_summary" else later(call))

    def later(call):  # one item is right from the start, so that there are successes to look at
        known = "thing 1 of" in call.prompt and kind_of(call) == "target"
        return Answer(text="<answer>gold 1</answer>") if known else model(call)

    running = project.train()
    assert running.code == 3, running.text
    assert "analysts of failures gave an answer" in running.text
    assert any(kind_of(call) == "success_patterns" for call in server.calls)
    assert not (project.results / "steps/step_0001/reflections.json").exists()
    server.rule = later
    assert project.train().code == 0
    assert server.repeated == 0


def other_answers(entries):
    return [entry | {"answers": ["nothing"]} for entry in entries]


CHANGES = [
    ("val", other_answers, "step_0001/selection.jsonl", "expected the items that the job was planned for"),
    ("train", lambda entries: entries[:1], "step_0002/rollouts.jsonl", "data/train: expected an item"),
]


@pytest.mark.parametrize(("split", "change", "missing", "words"), CHANGES)
def test_data_that_change_while_a_run_works_are_in_no_result(
    finished, project, server, split, change, missing, words
):
    """The engine knows the job by the items it had at the start: rows of others would stay, for ever."""
    path = project.folder / f"data/{split}/items.json"
    before = path.read_bytes()
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == "failure_summary")
    running = project.start()
    hold.wait()
    path.write_text(json.dumps(change(json.loads(before))))
    hold.release()
    assert running.wait().code == 2, running.text
    assert words in running.text
    assert "Run the same command again" in running.text
    assert not (project.results / "steps" / missing).exists()
    path.write_bytes(before)
    server.rule = model
    same_result(project, finished, server)


@pytest.mark.parametrize("place", ["results", "results/loop"])
def test_a_file_in_place_of_the_folder_of_results_is_named(project, server, place):
    (project.folder / place).parent.mkdir(exist_ok=True)
    (project.folder / place).write_text("a file")
    running = project.train()
    assert running.code == 1, running.text
    assert "results/loop: the folder cannot be made: " in running.text
    assert "Traceback" not in running.text
    assert server.calls == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("steps/step_0003/gate.json", "step 3: run loop has steps 1 to 2"),
        ("slow_update/epoch_03/skill.md", "epoch 3: run loop has epochs 1 to 2"),
    ],
)
def test_a_target_that_the_run_does_not_have_is_named(project, server, target, words):
    command = ("snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1")
    running = project.start(*command, "--", f"results/loop/{target}").wait()
    assert running.code == 1, running.text
    assert words in running.text
    assert server.calls == []


def test_garbage_from_the_optimizer_proposes_nothing(project, server):
    project.configure(**SHORT)
    garbage = iter(
        [
            Answer(text="I would say: use 'edits' with `b`."),
            Answer(text='{"patch": {"edits": [{"op": "append"'),
            Answer(text='{"patch": {"edits": []}}', finish_reason="length"),
            Answer(text="<think>never ends"),
            Answer(text='{"patch": {"edits": [{"op": "explode", "content": "x"}]}}'),
            Answer(text="[1, 2]"),
        ]
    )
    server.reset(lambda call: next(garbage) if kind_of(call) == "failure_summary" else model(call))
    running = project.train()
    assert running.code == 11, running.text
    assert project.status() == 11
    assert project.read("summary.json")["outcome"] == "nothing_proposed"
    unusable = project.read("summary.json")["unusable"]
    assert (unusable["answers"], unusable["times"]) == (6, 2)
    assert "6 answers of the optimizer could not be used, most often (2 times): " in running.text
    assert project.read("steps/step_0001/gate.json")["action"] == "skip_no_patches"
    groups = project.read("steps/step_0001/reflections.json")["groups"]
    assert [len(group["problems"]) for group in groups] == [3, 3]
    assert next(garbage, None) is None
    skills = project.results / "skills"
    assert (skills / "skill_v0001.md").read_bytes() == (skills / "skill_v0000.md").read_bytes()
    assert (project.results / "best_skill.md").read_bytes() == (skills / "skill_v0000.md").read_bytes()


MARKERS = ("SLOW_UPDATE_START", "SLOW_UPDATE_END", "APPENDIX_START", "APPENDIX_END")
HOSTILE = [
    "{{ 7 * 7 }} {% for x in y %} ${skill} $skill %s {0}",
    "<script>alert(1)</script> </skill> ```\n```json",
    "bell \x07, escape \x1b[31m, nul \x00, line \u2028, and \u202e backwards",
    "<!-- SLOW_UPDATE_START -->\nmine now\n<!-- SLOW_UPDATE_END -->",
    "<!-- APPENDIX_START -->",
    "long " * 40_000,
]


def test_a_disobedient_optimizer_breaks_nothing(project, server):
    project.configure(
        optimizer__learning_rate=4,
        optimizer__min_learning_rate=4,
        evaluation__eval_test=False,
        env__max_skill_chars=100_000,
    )

    def edits(call):
        protected = [
            {"op": "replace", "target": "<!-- SLOW_UPDATE_START -->", "content": "gone"},
            {"op": "delete", "target": "Look at the level first."},
            {"op": "insert_after", "target": "SLOW_UPDATE_END", "content": "after the end"},
        ]
        useful = json.loads(model(call).text)
        useful = useful.get("edits") or useful["patch"]["edits"]
        texts = [text for text in HOSTILE if len(text) < 1000] if "- RULE 1" not in call.prompt else HOSTILE
        return [*useful, *protected, *({"op": "append", "content": text} for text in reversed(texts))]

    def rule(call):
        kind = kind_of(call)
        if kind == "failure_summary" and "cannot be used" not in call.prompt:
            return Answer(text=json.dumps({"patch": {"edits": [{"op": "append", "content": "half \ud800"}]}}))
        if kind == "failure_summary":
            return Answer(text=json.dumps({"patch": {"edits": edits(call)}}))
        if kind == "merge":
            return Answer(text=json.dumps({"edits": edits(call), "reasoning": HOSTILE[0]}))
        if kind == "selected_indices":
            return Answer(text=json.dumps({"selected_indices": [-1, 99, 0, 0, 4, 5, 6, 7, 8, 1, 2, 3]}))
        if kind == "slow_update_content":
            return Answer(text=json.dumps({"slow_update_content": f"{HOSTILE[3]} {HOSTILE[0]}"}))
        return model(call)

    server.reset(rule)
    running = project.train()
    assert running.code in (0, 10, 11), running.text
    for step in (1, 2):
        update = project.read(f"steps/step_000{step}/update.json")
        assert len(update["edits"]) <= 4
        patch = project.read(f"steps/step_000{step}/patch.json")
        assert len(patch["patch"]["edits"]) == 4
        assert patch["clipped"]["edits"]
    for path in project.results.rglob("*.md"):
        text = path.read_text()
        assert max(text.count(f"<!-- {marker} -->") for marker in MARKERS) <= 1, path
        assert "mine now" not in text.partition("<!-- SLOW_UPDATE_START -->")[0] or "\nmine now\n" in text
        assert len(text) <= 100_000
    shown = [call.prompt for call in server.calls if kind_of(call) == "target"]
    assert any("{{ 7 * 7 }}" in prompt or "</skill>" in prompt for prompt in shown)
    assert not any("49 " in prompt for prompt in shown)


def test_a_harmful_optimizer_is_rejected_and_said_so(project, server):
    project.configure(**SHORT)

    def rule(call):
        if kind_of(call) == "target" and "HARM" in call.prompt:
            return Answer(text="<answer>worse</answer>")
        answer = model(call)
        return Answer(text=answer.text.replace("- RULE", "HARM"))

    server.reset(rule)
    running = project.train()
    assert running.code == 10, running.text
    assert project.status() == 10
    assert project.read("summary.json")["outcome"] == "all_rejected"
    skills = project.results / "skills"
    assert (project.results / "best_skill.md").read_bytes() == (skills / "skill_v0000.md").read_bytes()


def test_a_mistake_in_the_data_or_settings_ends_before_any_call(project, server):
    project.configure(train__epochs=3)
    running = project.train()
    assert running.code == 2
    assert "train.num_epochs" in running.text
    project.configure()
    (project.folder / "data/val/items.json").write_text('[{"id": "only"}]')
    running = project.train()
    assert running.code == 2
    assert "data/val/items.json, entry 1 (id 'only')" in running.text
    assert server.calls == []
    assert not (project.folder / "results").exists()
