"""Skills side by side, from rows to tables."""

import csv
import io
import json

import msgspec
import pytest

from skillopt.config.resolve import load_run
from skillopt.config.skillnames import read_words
from skillopt.errors import ConfigError, CorruptFile
from skillopt.files import write_json, write_jsonl
from skillopt.phases import tabulate
from skillopt.phases.evaluate import Protocol, Scores, by_task_type, split_score
from skillopt.phases.repeat import passes_of, spreads
from skillopt.records import Repeated, Repeats, Row, Stability, Usage


def row(id_, hard, soft=None, status="scored", kind="qa"):
    return Row(
        id=id_,
        status=status,
        hard=hard,
        soft=hard if soft is None else soft,
        answer="x",
        task_type=kind,
        turns=1,
        usage=Usage(),
        seconds=0.0,
        trajectory=(),
    )


BEFORE = [row("a", 0.0, 0.2), row("b", 1.0), row("c", 0.0, kind="long"), row("d", None, status="timeout")]
AFTER = [row("a", 1.0), row("b", 1.0), row("c", 0.0, 0.5, kind="long"), row("d", 1.0)]


def test_comparison_pairs_by_id_and_drops_what_has_no_score_on_one_side():
    found = tabulate.compare(("old", "new"), ([BEFORE], [AFTER]), seed=42)
    assert (found.paired, found.dropped) == (3, ("d",))
    assert (found.improved, found.regressed) == (("a",), ())
    assert (found.stable_success, found.persistent_fail, found.p_value) == (1, 1, 1.0)
    assert found.hard.mean == pytest.approx(1 / 3)
    assert found.soft.mean == pytest.approx((0.8 + 0 + 0.5) / 3)
    low, high = found.soft.interval
    assert 0.0 <= low < found.soft.mean < high == pytest.approx(0.8)


def repeated(rows, sample):
    return [Repeated(**msgspec.structs.asdict(one), sample=sample) for one in rows]


def test_differences_are_of_item_means_and_right_or_wrong_of_the_first_pass():
    second = [row("a", 0.0), row("b", 1.0), row("c", 1.0), row("d", 1.0)]
    passes = passes_of(AFTER, repeated(second, 1))
    found = tabulate.compare(("old", "new"), ([BEFORE], passes), seed=42)
    assert found.improved == ("a",)
    assert found.hard.mean == pytest.approx((0.5 + 0.0 + 0.5) / 3)


def test_each_pass_has_its_own_rows():
    second, third = ([row(id_, hard) for id_ in "abcd"] for hard in (0.0, 1.0))
    passes = passes_of(AFTER, [*repeated(third, 2), *repeated(second, 1)])
    assert [[one.hard for one in rows] for rows in passes] == [[1.0, 1.0, 0.0, 1.0], [0.0] * 4, [1.0] * 4]
    assert spreads(passes).hard.values == (0.75, 0.0, 1.0)


def test_task_types_are_sorted_and_each_has_its_own_rows():
    kinds = ("qa", "", "long", "b", "z", "a")
    found = by_task_type([row(f"i{n}", float(kind == "b"), kind=kind) for n, kind in enumerate(kinds)])
    assert [(kind, one.score.hard, one.score.n) for kind, one in found.items()] == [
        *(("a", 0.0, 1), ("b", 1.0, 1), ("long", 0.0, 1), ("qa", 0.0, 1), ("z", 0.0, 1)),
    ]


def test_passes_of_other_items_are_refused():
    with pytest.raises(CorruptFile, match="same items"):
        passes_of(AFTER, repeated(AFTER[:3], 1))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/demo.yaml").write_text("env: {name: searchqa, data_path: x.json}")
    folder = tmp_path / "results/demo"
    write_json(folder / "config.json", load_run(tmp_path / "config/demo.yaml", [], {}))
    return folder


PROTOCOL = Protocol(items="i", prompts="p", settings={"env.max_turns": 1})


def write(run, name, rows, again=(), protocol=PROTOCOL):
    folder = run / "eval/test" / name
    write_jsonl(folder / "rollouts.jsonl", rows)
    scores = Scores(
        split="test",
        skill=f"{name}.md",
        skill_sha256="s",
        visible_sha256="v",
        reused_from="",
        protocol=protocol,
        overall=split_score(rows),
        task_types=by_task_type(rows),
    )
    write_json(folder / "scores.json", scores)
    if again:
        passes = [rows, again]
        types = sorted({one.task_type for one in rows})
        write_jsonl(folder / "repeats.jsonl", repeated(again, 1))
        write_json(
            folder / "repeats.json",
            Repeats(
                split="test",
                skill=f"{name}.md",
                visible_sha256="v",
                repeats=2,
                overall=spreads(passes),
                task_types={
                    kind: spreads([[one for one in rows if one.task_type == kind] for rows in passes])
                    for kind in types
                },
                stability=Stability(always_right=0, sometimes_right=0, never_right=0),
            ),
        )
    return folder


def make(run, *names, repeats=()):
    parser = __import__("argparse").ArgumentParser()
    tabulate.add_arguments(parser)
    out = run / "eval/test"
    arguments = ["--config", run / "config.json", "--split", "valid_unseen"]
    arguments += ["--scores", *(out / name / "scores.json" for name in names)]
    arguments += ["--repeats", *(out / name / "repeats.json" for name in repeats)]
    arguments += ["--table", out / "table.json", "--csv", out / "table.csv", "--text", out / "table.txt"]
    arguments += ["--item-csv", out / "item_scores.csv", "--comparison", out / "comparison.json"]
    tabulate.main(parser.parse_args([str(argument) for argument in arguments]))
    return out


def test_the_files_of_a_table(run):
    write(run, "old", BEFORE)
    write(run, "new", AFTER, again=[row(one.id, 1.0, kind=one.task_type) for one in AFTER])
    out = make(run, "old", "new", repeats=["new"])

    lines = list(csv.DictReader(io.StringIO((out / "table.csv").read_text())))
    assert [(line["skill"], line["task_type"], line["n"], line["total"]) for line in lines] == [
        ("old", "", "3", "4"),
        ("old", "long", "1", "1"),
        ("old", "qa", "2", "3"),
        ("new", "", "4", "4"),
        ("new", "long", "1", "1"),
        ("new", "qa", "3", "3"),
    ]
    assert (lines[0]["coverage"], lines[0]["statuses"]) == ("0.75", "scored=3 timeout=1")
    assert (lines[3]["repeats"], lines[3]["hard_mean"], lines[0]["hard_mean"]) == ("2", "0.875", "")
    assert float(lines[3]["hard_deviation"]) == pytest.approx(0.25 / 2**0.5)

    items = list(csv.DictReader(io.StringIO((out / "item_scores.csv").read_text())))
    assert items[3] == {
        "id": "d",
        "task_type": "qa",
        "old hard": "",
        "old soft": "",
        "old status": "timeout",
        "new hard": "1.0",
        "new soft": "1.0",
        "new status": "scored",
    }

    table = json.loads((out / "table.json").read_text())
    assert (table["split"], [skill["skill"] for skill in table["skills"]]) == ("test", ["old", "new"])
    (compared,) = json.loads((out / "comparison.json").read_text())["comparisons"]
    assert (compared["baseline"], compared["skill"], compared["improved"]) == ("old", "new", ["a"])

    text = (out / "table.txt").read_text()
    assert "demo, test split" in text
    assert "0.333 [0.06, 0.79]" in text
    assert "0.875 ± 0.177 (2x)" in text
    assert "3 of 4" in text
    assert "new against old: 1 improved, 0 regressed of 3 (McNemar, exact, p = 1); hard +0.500 [" in text


def test_a_single_skill_is_compared_with_nothing(run):
    write(run, "only", AFTER)
    out = make(run, "only")
    assert json.loads((out / "comparison.json").read_text())["comparisons"] == []
    assert "against" not in (out / "table.txt").read_text()


def test_rows_of_other_items_are_refused(run):
    write(run, "old", BEFORE)
    write(run, "new", AFTER[:3])
    with pytest.raises(CorruptFile, match="old and new"):
        make(run, "old", "new")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"items": "others"}, "content of the items"),
        ({"prompts": "others"}, "text that the target is told"),
        ({"settings": {"env.max_turns": 3}}, r"env.max_turns \(1, 3\)"),
        ({"settings": PROTOCOL.settings | {"env.engine": "x"}}, r"env.engine \(None, x\)"),
    ],
)
def test_scores_that_were_taken_in_another_way_are_refused(run, change, said):
    write(run, "old", BEFORE)
    write(run, "new", AFTER, protocol=msgspec.structs.replace(PROTOCOL, **change))
    with pytest.raises(CorruptFile, match=f"old and new .* differences: {said}[.]"):
        make(run, "old", "new")
    assert not (run / "eval/test/table.json").exists()


def test_skills_as_words():
    assert read_words(["a/mine.md", "none", "b=c/other.md", "best"]) == {
        "mine": "a/mine.md",
        "none": "",
        "b": "c/other.md",
        "best": "",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.md", "b/a.md"], "'a' is given twice"),
        (["best=a.md"], "the run's own skill"),
        (["initial.md"], "give initial.md another name"),
        (["a b.md"], "expected a name of letters"),
        (["mine="], "expected the file of the skill 'mine'"),
    ],
)
def test_words_that_name_no_skill(words, said):
    with pytest.raises(ConfigError, match=said):
        read_words(words)
