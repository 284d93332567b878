"""A run may be given by its name, by its folder or by its file, whichever a command is about."""

from pathlib import Path

RESULTS = Path("results")
RUN_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Pattern of the names that a run can have."""


def run_name(text: str) -> str:
    """Return the name of a run: `demo`, `results/demo` and `config/demo.yaml` are all `demo`."""
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return path.stem
    return path.name if path.parent.name == RESULTS.name else text


def run_folder(text: str) -> Path:
    """Return the folder of a run: what is given, or the folder of that name below results/."""
    given, named = Path(text), RESULTS / run_name(text)
    return named if not (given / "config.json").exists() and named.is_dir() else given


def run_of(file: Path) -> Path | None:
    """Return the folder of the run whose logs a file lies among, None when it is no run's."""
    for folder in file.absolute().parents:
        if folder.name == "logs" and (folder.parent / "config.json").is_file():
            return folder.parent
    return None
