"""The folders of a call: what is in its environment, what is brought back, and that all is removed."""

import os
import subprocess
from pathlib import Path

import pytest

from skillopt.models.agents.collecting import FILE_LIMIT, MOST_FILES, collect
from skillopt.models.agents.place import environment, make_place, remove


@pytest.fixture
def nest(tmp_path):
    """Makes folders in folders: more than Python takes in a recursion, and longer than a path can be."""

    def make(folder):
        deep = os.open(folder, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("deeper", dir_fd=deep)
            deeper = os.open("deeper", os.O_RDONLY, dir_fd=deep)
            os.close(deep)
            deep = deeper
        os.close(deep)

    yield make
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)  # pytest cannot


def test_the_environment_names_the_folder_of_a_program_that_is_not_on_path():
    with make_place() as place:
        env = environment(place, {"PATH": "/usr/bin", "LANG": "de", "X": "1"}, "/opt/n/bin/codex", {"K": "v"})
        assert env == {
            "PATH": "/usr/bin:/opt/n/bin",
            "HOME": str(place.home),
            "TMPDIR": str(place.tmp),
            "LANG": "de",
            "K": "v",
        }
        assert environment(place, {"PATH": "/usr/bin"}, "/usr/bin/codex", {})["PATH"] == "/usr/bin"
        assert place.root.stat().st_mode & 0o077 == 0
    assert not place.root.exists()


def test_read_only_folders_are_removed(tmp_path):
    folder = tmp_path / "root" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "f").write_text("x")
    folder.chmod(0o500)
    folder.parent.chmod(0o500)
    remove(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_what_an_agent_made_of_its_folders_is_removed(tmp_path, nest):
    root = tmp_path / "root"
    (root / "work" / "locked" / "in").mkdir(parents=True)
    (root / "work" / "locked" / "in" / "f").write_text("x")
    (root / "work" / "away").symlink_to(tmp_path / "owner")
    (tmp_path / "owner" / "sub").mkdir(parents=True, mode=0o755)
    (tmp_path / "owner" / "kept").write_text("x")
    os.mkfifo(root / "pipe")
    nest(root)
    (root / "work" / "locked").chmod(0)
    remove(root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["owner"]
    assert (tmp_path / "owner" / "kept").exists()


def test_a_link_in_the_place_of_the_folder_is_removed_and_not_followed(tmp_path):
    owner = tmp_path / "owner"
    (owner / "sub").mkdir(parents=True)
    (owner / "sub").chmod(0o755)
    (tmp_path / "root").symlink_to(owner)
    remove(tmp_path / "root")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["owner"]
    assert (owner / "sub").stat().st_mode & 0o777 == 0o755


def test_large_files_are_left_behind(tmp_path):
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    (tmp_path / "small.bin").write_bytes(b"s")
    os.mkfifo(tmp_path / "pipe.bin")
    found = collect(tmp_path, ("*.bin",), ())
    assert [file.path for file in found.files] == ["small.bin"]
    assert found.left == (
        f"big.bin ({FILE_LIMIT + 1} bytes)",
        "pipe.bin (not a regular file of the workspace)",
    )


def test_whatever_an_agent_leaves_what_was_asked_for_comes_back(tmp_path, nest):
    (tmp_path / "owner").mkdir()
    (tmp_path / "owner" / "b.py").write_text("secret")
    work = tmp_path / "work"
    (work / "out" / "x").mkdir(parents=True)
    (work / "out" / "x" / "a.py").write_text("a")
    (work / "loop.py").symlink_to("loop.py")
    (work / "other").symlink_to(tmp_path / "owner")
    nest(work)
    found = collect(work, ("**/*.py", "other/*"), ())
    assert [(file.path, file.data) for file in found.files] == [("out/x/a.py", "YQ==")]
    reasons = sorted(entry.partition(" ")[2] for entry in found.left)
    assert reasons == ["(File name too long)", "(not a regular file of the workspace)"]


def test_a_replaced_folder_brings_nothing_back(tmp_path):
    owner = tmp_path / "owner"
    owner.mkdir()
    (owner / "a.py").write_text("secret")
    (tmp_path / "work").symlink_to(owner)
    found = collect(tmp_path / "work", ("*.py",), ())
    assert (found.files, found.left) == ((), ("everything (the folder was replaced)",))


def test_no_more_than_so_many_files_come_back(tmp_path):
    for number in range(MOST_FILES + 2):
        (tmp_path / f"{number:04d}").write_text("x")
    found = collect(tmp_path, ("*",), ())
    assert len(found.files) == MOST_FILES
    assert found.left == (f"{MOST_FILES:04d} and what follows (more than {MOST_FILES} files)",)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["a.py"]),
        ("**/*", ["a.py", "o/b.py", "o/p/c.txt"]),
        ("**/*.py", ["a.py", "o/b.py"]),
        ("o/**/*", ["o/b.py", "o/p/c.txt"]),
        ("o/*", ["o/b.py"]),
        ("?/p/[a-c].txt", ["o/p/c.txt"]),
    ],
)
def test_patterns(tmp_path, pattern, found):
    for name in ("a.py", "o/b.py", "o/p/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [file.path for file in collect(tmp_path, (pattern,), ()).files] == found


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../*"])
def test_patterns_stay_inside(tmp_path, pattern):
    with pytest.raises(ValueError, match="below the workspace"):
        collect(tmp_path, (pattern,), ())


def test_what_the_harness_wrote_is_not_brought_back(tmp_path):
    for name in ("task.md", "ATTACHMENTS.md", ".agents/skills/skillopt-target/SKILL.md", "a.md"):
        path = Path(tmp_path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert [file.path for file in collect(tmp_path, ("**/*",), ()).files] == ["a.md"]
