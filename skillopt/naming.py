"""A run may be given by its name, by its folder or by its file, whichever a command is about."""

from collections.abc import Sequence
from pathlib import Path

from skillopt.errors import ConfigError

RESULTS = Path("results")
RUN_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Pattern of the names that a run can have."""
_MOST_NAMED = 20
"""Names that a message lists at most."""


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


def no_run(folder: Path) -> ConfigError:
    """Return the error for a folder that is no run's: it says how to begin it, or which runs there are."""
    name, place = folder.name, folder.parent if folder.parent.name == RESULTS.name else RESULTS
    runs = sorted(path.parent.name for path in place.glob("*/config.json"))
    configured = Path("config", f"{name}.yaml").is_file()
    more = (
        f"; to begin it: skillopt train {name}" if configured else known_ones(name, runs, f"runs in {place}/")
    )
    return ConfigError(f"{folder}: expected the folder of a run (with config.json), found none{more}")


def known_ones(name: str, known: Sequence[str], what: str) -> str:
    """Return the end of a message about a name that is not known: the nearest one, and those there are."""
    import difflib  # late: every phase reads the names above

    close = difflib.get_close_matches(name, known, 1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    listed = f"{', '.join(known[:_MOST_NAMED])}{more}" if known else "none"
    return f"; did you mean {close[0]}? ({what}: {listed})" if close else f" ({what}: {listed})"
