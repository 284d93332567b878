"""The form of a new run: fields from settings, problems beside them, a file that loads."""

import os
import resource
import signal

import pytest

from skillopt.config.keys import common_keys, installed
from skillopt.config.resolve import load_run
from skillopt.dashboard import drafting, form
from skillopt.errors import ConfigError
from skillopt.report.options import values_of

SENT = {
    "name": "mine",
    "env.name": "searchqa",
    "env.split_mode": "split_dir",
    "env.split_dir": "data",
    "model.backend": "simulator",
}
ITEMS = '[{"id": "%s", "question": "q?", "context": "[DOC] c", "answers": ["a"]}]'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for split in ("train", "val", "test"):
        (tmp_path / "data" / split).mkdir(parents=True)
        (tmp_path / "data" / split / "items.json").write_text(ITEMS % split)
    return tmp_path


def check(folder, secrets=(), owner=True, kept=None, **sent):
    given = {key.replace("__", "."): text for key, text in sent.items()}
    draft = form.read_draft(SENT | given, installed(), list(secrets), owner=owner, kept=kept or {})
    return draft, drafting.check(draft, installed(), folder / "results")


def test_every_setting_is_a_field_with_its_description_once(folder):
    draft = form.Draft(
        owner=True, texts={"env.name": "officeqa", "model.target_backend": "openai_compatible"}
    )
    groups = form.groups(draft, installed())
    fields = [field for group in groups for field in group.fields]
    keys = [field.key for field in fields]
    assert len(keys) == len(set(keys))
    assert set(common_keys()) < set(keys)
    assert {"env.data_dirs", "model.openai_compatible_base_url", "model.simulator_seed"} < set(keys)
    assert not [
        key for key in keys if key.endswith(("_path", "api_key_env", "pass_env")) and "data" not in key
    ]
    assert [field.key for field in groups[0].fields] == list(form.COMMON)
    assert all(field.description for field in fields)
    by_key = {field.key: field for field in fields}
    assert by_key["evaluation.use_gate"].choices == ("true", "false")
    assert by_key["optimizer.lr_scheduler"].choices == ("constant", "linear", "cosine", "autonomous")
    assert by_key["train.num_epochs"].default == "4"


def test_a_good_form_is_a_file_with_what_was_set(folder):
    draft, planned = check(folder, train__num_epochs="3", env__split_ratio="", extra="train.seed = 7\n")
    assert draft.problems == {}
    assert planned.text == (
        "train:\n  num_epochs: 3\n  seed: 7\n"
        "env:\n  name: searchqa\n  split_mode: split_dir\n  split_dir: data\nmodel:\n  backend: simulator\n"
    )
    assert planned.forecast.steps == 3
    path = drafting.write(draft, planned.text)
    assert load_run(path, [], os.environ).settings == planned.resolved.settings
    with pytest.raises(ConfigError, match=r"config/mine.yaml: expected no such file"):
        drafting.write(draft, "other")
    assert path.read_text() == planned.text


@pytest.mark.parametrize(
    "text",
    ["1e5", "0042", "2:1:7", "yes", "null", "a: b # c", "{{ x }}", "'\"\\", "é\t", "a\x85b\u2028c\x7fd\n e"],
)
def test_texts_stay_what_they_are(folder, text):
    address = "http://127.0.0.1:9/v1"
    backend = {"model__target_backend": "openai_compatible", "model__openai_compatible_base_url": address}
    draft, planned = check(folder, model__target=text, **backend)
    assert draft.problems == {}
    assert planned.resolved.roles["target"].model == text.strip()


def test_numbers_lists_and_groups_stay_what_they_are(folder):
    (folder / "prices.yaml").write_text("simulated: {prompt: 1, completion: 2}\n")
    draft, planned = check(
        folder,
        calls__timeout="1e-7",
        calls__prices="prices.yaml",
        budget__max_cost="0.1234567",
        evaluation__use_semantic_density="true",
        evaluation__leading_words="must, never",
        evaluation__skills='{"initial": ""}',
    )
    assert draft.problems == {}
    found = values_of(planned.resolved)
    assert (found["calls.timeout"], found["budget.max_cost"]) == (1e-7, 0.1234567)
    assert list(found["evaluation.leading_words"]) == ["must", "never"]
    assert found["evaluation.skills"] == {"initial": ""}


def test_problems_stand_beside_their_fields_with_the_nearest_name(folder):
    draft, planned = check(
        folder,
        train__num_epochs="three",
        optimizer__lr_scheduler="cosin",
        env__name="searchq",
        extra="optimizer.learning_rat=3\nmodel.optimizer_simulator_sed=4",
    )
    assert planned is None
    assert draft.problems["train.num_epochs"] == [
        'expected a whole number (1 or more, 99 or less), found "three"'
    ]
    assert draft.problems["optimizer.lr_scheduler"][0].endswith("did you mean 'cosine'?")
    assert draft.problems["env.name"][0].endswith("did you mean searchqa?")
    assert len(draft.problems["extra"]) == 2
    assert draft.problems["extra"][0].endswith("did you mean optimizer.learning_rate?")
    assert not (folder / "config").exists()
    shown = {f.key: f for group in form.groups(draft, installed()) for f in group.fields}
    assert shown["optimizer.lr_scheduler"].value == "cosin"
    assert "cosin" in shown["optimizer.lr_scheduler"].choices


def test_values_of_the_folder_are_the_defaults(folder):
    (folder / "config").mkdir()
    (folder / "config/shared.yaml").write_text("train: {num_epochs: 2}\n")
    (folder / "config/config.yaml").write_text("_base_: shared.yaml\ntrain: {batch_size: 1}\n")
    shown = {
        field.key: field
        for group in form.groups(form.Draft(owner=True), installed())
        for field in group.fields
    }
    assert (shown["train.num_epochs"].default, shown["train.seed"].default) == ("2", "42")
    (folder / "config/paper.yaml").write_text("train: {num_epochs: 4, batch_size: 1, seed: 42}\n")
    like = form.draft_of(folder / "config/paper.yaml", installed(), [], owner=True)
    assert like.texts == {"train.num_epochs": "4", "train.batch_size": "1"}  # 4 is only the built-in default
    draft, planned = check(folder)
    assert draft.problems == {}
    assert (planned.forecast.epochs, planned.forecast.steps) == (2, 2)
    assert planned.resolved.origins["train.num_epochs"] == "config/shared.yaml"


BAD_NAMES = ["", "../up", "a/b", ".hidden", "config", "a b", "x" * 81, "<script>", "taken", "begun", "a\0"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_none_or_taken(folder, name):
    (folder / "config").mkdir()
    (folder / "config/taken.yaml").write_text("")
    (folder / "results/begun").mkdir(parents=True)
    draft, planned = check(folder, name=name)
    assert planned is None
    assert list(draft.problems) == ["name"]


@pytest.mark.parametrize(
    "sent",
    [
        {"env__split_dir": "/etc"},
        {"env__split_dir": "../other"},
        {"env__split_dir": "data/../../other"},
        {"env__skill_init": ".ssh/id"},
        {"calls__prices": "/etc/passwd"},
        {"evaluation__skills": '{"a": "/etc/passwd"}'},
        {"extra": "env.skill_init=/etc/passwd"},
        {"extra": "_base_=/etc/passwd"},
        {"extra": "_base_.x=/etc/passwd"},
        {"env__split_dir": "~/data"},
        {"extra": "model.target_codex_exec_path=/bin/sh"},
        {"extra": "model.codex_bin=/bin/sh"},
        {"extra": "model.openai_compatible_api_key_env=HOME"},
        {"env__name": "officeqa", "env__data_dirs": "/etc"},
    ],
)
def test_other_places_and_programs_cannot_be_named(folder, sent):
    draft, planned = check(folder, **sent)
    assert planned is None
    said = " ".join(problem for found in draft.problems.values() for problem in found)
    assert "expected a path below this folder" in said or "by hand" in said or "expected section.key" in said
    assert "root:" not in said


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        ("extra", {"extra": "model.openai_compatible_api_key=plain-1"}),
        ("extra", {"extra": "model.target_api_key: plain-1"}),
        ("extra", {"extra": "train.seed=sk-abcdefgh0123456789abc-plain-1"}),
        ("model.optimizer", {"model__optimizer": "ghp_abcdefghij0123456789plain-1"}),
        ("model.target", {"model__target": "of the environment plain-1"}),
    ],
)
def test_secrets_are_refused_and_not_shown_again(folder, place, sent):
    draft, planned = check(folder, secrets=["of the environment plain-1"], **sent)
    assert planned is None
    assert "this looks like a secret" in draft.problems[place][0]
    assert "plain-1" not in repr(draft)


def test_only_whether_a_key_is_set_is_told(folder, monkeypatch):
    monkeypatch.setenv("TARGET_OPENAI_COMPATIBLE_API_KEY", "canary-value")
    monkeypatch.delenv("OPENAI_COMPATIBLE_API_KEY", raising=False)
    _, planned = check(
        folder,
        model__target_backend="openai_compatible",
        model__target="m",
        model__openai_compatible_base_url="http://127.0.0.1:9/v1",
    )
    assert planned.keys["optimizer"] == {}
    assert planned.keys["target"]["TARGET_OPENAI_COMPATIBLE_API_KEY"] is True
    assert planned.keys["target"]["OPENAI_COMPATIBLE_API_KEY"] is False
    assert "canary-value" not in repr(planned)


def test_a_form_like_a_run_holds_what_that_run_sets(folder):
    (folder / "config").mkdir()
    old = folder / "config/old.yaml"
    old.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data, exec_timeout: 120}\n"
        "train: {num_epochs: 2, seed: 42}\n"
        "model: {backend: simulator, optimizer_simulator_seed: 5, openai_compatible_api_key: canary,\n"
        "  openai_compatible_base_url: 'http://me:canary-1@host/v1', target: canary-2}\n"
        "evaluation: {leading_words: [must]}\n"
    )
    draft = form.draft_of(old, installed(), ["canary-2"], owner=True)
    assert draft.texts == {
        "env.name": "searchqa",
        "env.split_mode": "split_dir",
        "env.split_dir": "data",
        "train.num_epochs": "2",
        "model.backend": "simulator",
        "evaluation.leading_words": '["must"]',
    }
    assert draft.extra == "model.optimizer_simulator_seed=5"
    assert "canary" not in repr(draft)
    assert draft.name == ""


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        ("extra", {"model__target_backend": "codex_exec", "model__codex_exec_sandbox": "danger-full-access"}),
        ("extra", {"extra": "model.target_codex_exec_sandbox=danger-full-access"}),
        ("extra", {"extra": "model.sandbox=danger-full-access"}),
        ("extra", {"extra": "model.codex_profile=mine"}),
        ("extra", {"extra": "model.cursor_exec_shell=true"}),
        ("extra", {"env__name": "spreadsheetbench", "env__isolation": "limits"}),
        ("extra", {"env__name": "spreadsheetbench", "extra": "env.isolation=limits"}),
    ],
)
def test_what_programs_may_do_is_not_set_over_the_web(folder, place, sent):
    draft, planned = check(folder, **sent)
    assert planned is None or "danger" not in planned.text
    shown = {field.key for group in form.groups(draft, installed()) for field in group.fields}
    assert not [key for key in shown if key.endswith(("sandbox", "isolation", "shell", "codex_exec_profile"))]
    if "extra" in sent:
        assert "by hand" in draft.problems[place][0]


def test_a_form_like_a_run_says_what_only_a_file_may(folder):
    (folder / "config").mkdir()
    old = folder / "config/old.yaml"
    old.write_text(
        "env: {name: spreadsheetbench, isolation: limits}\nmodel: {codex_exec_sandbox: read-only}\n"
    )
    assert form.draft_of(old, installed(), [], owner=True).extra == (
        "env.isolation=limits\nmodel.codex_exec_sandbox=read-only"
    )


ADDRESSES = [
    ("model.openai_compatible_base_url", "model__openai_compatible_base_url", "http://127.0.0.1:9/v1"),
    ("model.target_openai_compatible_base_url", "extra", "http://127.0.0.1:9/v1"),
    ("model.openai_chat_endpoint", "extra", "https://mine.openai.azure.com"),
    ("model.qwen_base_url", "extra", "http://127.0.0.1:9/v1"),
    ("model.target_openai_chat_ad_scope", "extra", "api://mine/.default"),
]


@pytest.mark.parametrize(("dotted", "field", "value"), ADDRESSES)
def test_who_does_not_own_the_machine_sends_no_key_elsewhere(folder, dotted, field, value):
    sent = {field: f"{dotted}={value}" if field == "extra" else value, "model__target": "m"}
    sent["model__target_backend"] = "openai_compatible"
    fields = form.offered(form.Draft(owner=False, texts=SENT), installed())
    assert dotted not in fields
    draft, planned = check(folder, owner=False, **sent | {"extra": f"{dotted}={value}"})
    assert planned is None
    assert (
        "chooses where keys are sent, and this dashboard can be reached from other"
        in (draft.problems["extra"][0])
    )
    draft, _ = check(folder, owner=True, **sent)
    assert "by hand" not in repr(draft.problems)


def test_a_copy_keeps_what_stands_in_a_file_that_was_written_by_hand(folder):
    (folder / "config").mkdir()
    old = folder / "config/old.yaml"
    old.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data}\n"
        "model: {backend: simulator, target_backend: openai_compatible, target: m,\n"
        "  openai_compatible_base_url: 'http://127.0.0.1:9/v1'}\n"
    )
    like = form.draft_of(old, installed(), [], owner=False)
    assert (like.like, like.extra) == ("old", "model.openai_compatible_base_url=http://127.0.0.1:9/v1")
    sent = {**like.texts, "extra": like.extra, "like": "old", "train.num_epochs": "2"}
    draft, planned = check(folder, owner=False, kept=form.kept_of(old), **sent)
    assert draft.problems == {}
    assert planned.resolved.roles["target"].settings["base_url"] == "http://127.0.0.1:9/v1"
    assert draft.like == "old"
    moved = sent | {"extra": like.extra.replace(":9", ":10")}
    draft, planned = check(folder, owner=False, kept=form.kept_of(old), **moved)
    assert (planned, list(draft.problems)) == (None, ["extra"])


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml"])
def test_a_name_of_a_file_is_no_name_of_a_run(folder, name):
    """`skillopt train mine.yaml` is the run `mine`."""
    draft, planned = check(folder, name=name)
    assert planned is None
    assert "leave out the ending" in draft.problems["name"][0]


def test_a_name_that_is_a_secret_is_not_shown_again(folder):
    draft, planned = check(folder, name="sk-abcdefgh0123456789abc")
    assert planned is None
    assert "looks like a secret" in draft.problems["name"][0]
    assert "sk-abc" not in repr(draft)


def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "prices.yaml")
    draft, planned = check(folder, calls__prices="prices.yaml")
    assert planned is None
    assert "found a pipe or a device" in draft.problems["calls.prices"][0]


def test_a_disk_without_room_leaves_no_part_of_a_file(folder):
    draft, planned = check(folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(ConfigError, match=r"config/mine.yaml: cannot be written"):
            drafting.write(draft, planned.text)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list((folder / "config").iterdir()) == []
    drafting.write(draft, planned.text)
