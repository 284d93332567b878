"""Measure training against a scripted model: `python benchmarks/run.py [RECIPE ...]`, or `make bench`.

Wall time and calls of whole runs, the start of a phase, its memory, the rate of a replay, and the time
to plan 1,000 steps. Prints a table and writes it to benchmarks/results.json. Works in a temporary folder.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.items import make_splits  # noqa: E402

RUN = """
train: {{num_epochs: {epochs}, batch_size: {batch}}}
evaluation: {{early_reject: {early_reject}}}
calls: {{preflight_call: false}}
env: {{name: searchqa, split_mode: split_dir, split_dir: data, workers: 24}}
model:
  backend: openai_compatible
  optimizer: scripted
  target: scripted
  openai_compatible_base_url: {url}
"""


@dataclass(frozen=True)
class Recipe:
    """A whole run: sizes of the splits, batch, epochs, and seconds a call of each role takes."""

    sizes: tuple[int, int, int]
    chars: int
    batch: int
    epochs: int
    target: float
    optimizer: float
    early_reject: str = "slow_update"


RECIPES = {
    "full": Recipe((400, 200, 1400), 1500, 40, 4, 0.2, 1.0),
    "early": Recipe((400, 200, 1400), 1500, 40, 4, 0.2, 1.0, early_reject="all"),
    "realistic": Recipe((80, 40, 80), 800, 20, 2, 2.0, 10.0),
    "zero": Recipe((80, 40, 80), 800, 20, 2, 0.0, 0.0),
    "tiny": Recipe((6, 3, 3), 200, 3, 1, 0.0, 0.0),
}


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    name: str
    value: float
    unit: str
    note: str = ""


class Model:
    """The scripted endpoint, as a process."""

    def __init__(self) -> None:
        command = [sys.executable, str(ROOT / "benchmarks/endpoint.py")]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.url = self._line()

    def tell(self, *words: object) -> dict[str, Any]:
        """Send a command and return what it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def project(folder: Path, recipe: Recipe, url: str) -> Path:
    """Write a run's data and configuration."""
    make_splits(folder / "data", recipe.sizes, recipe.chars)
    (folder / "config").mkdir()
    text = RUN.format(epochs=recipe.epochs, batch=recipe.batch, early_reject=recipe.early_reject, url=url)
    (folder / "config/bench.yaml").write_text(text, encoding="utf-8")
    return folder


def snakemake(folder: Path, *arguments: str) -> float:
    """Run the engine in a folder; return the seconds that it took."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "8"]
    started = time.monotonic()
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.monotonic() - started


def measure_run(name: str, folder: Path, model: Model) -> list[Measure]:
    """Train from nothing, and once more from the call store."""
    recipe = RECIPES[name]
    project(folder, recipe, model.url)
    model.tell("reset")
    model.tell("latency", recipe.target, recipe.optimizer)
    seconds = snakemake(folder, "--quiet", "all", "--", "results/bench/summary.json")
    said = model.tell("stats")
    calls = said["target"] + said["optimizer"]
    note = f"{said['repeated']} repeated, at most {said['peak']} at once"
    return [Measure(f"{name}: wall time", seconds, "s"), Measure(f"{name}: calls", calls, "", note)]


def measure_phase(folder: Path, model: Model) -> list[Measure]:
    """Measure one phase alone: its start to the first request, memory over 1,400 items, and its replay."""
    project(folder, Recipe((400, 200, 1400), 1500, 40, 1, 0.0, 0.0), model.url)
    model.tell("latency", 0.0, 0.0)
    snakemake(folder, "--quiet", "all", "--", "results/bench/skills/skill_v0000.md")
    command = [sys.executable, "-m", "skillopt", "evaluate", "--config", "results/bench/config.json"]
    command += ["--skill", "results/bench/skills/skill_v0000.md", "--split", "test", "--out", "rows.jsonl"]
    first = []
    for _ in range(3):  # the first start compiles modules; with a fresh store each makes its calls
        model.tell("reset")
        started = time.time()
        _run(folder, [*command, "--store", f"store-{started}"])
        first.append(model.tell("stats")["first"] - started)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    started = time.monotonic()
    _run(folder, [*command, "--store", next(folder.glob("store-*")).name])
    seconds = time.monotonic() - started
    return [
        Measure("start of a phase to its first request", min(first), "s"),
        Measure("memory of a phase over 1,400 items", before / 1024, "MB", "largest of all children"),
        Measure("replay of 1,400 calls, process start included", 1400 / seconds, "calls/s"),
    ]


def _run(folder: Path, command: list[str]) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)


def measure_plan(folder: Path, model: Model) -> list[Measure]:
    """Plan 1,000 steps."""
    project(folder, Recipe((4000, 10, 10), 100, 40, 10, 0.0, 0.0), model.url)
    seconds = snakemake(folder, "--dry-run", "--quiet", "all", "--", "results/bench/best_skill.md")
    return [Measure("dry run of 1,000 steps", seconds, "s")]


MEASURES: dict[str, Callable[[Path, Model], list[Measure]]] = {
    **{name: lambda folder, model, name=name: measure_run(name, folder, model) for name in RECIPES},
    "phase": measure_phase,
    "plan": measure_plan,
}
USUAL = ("zero", "phase", "plan", "full", "early", "realistic")


def main() -> None:
    """Measure what is asked for, print each line when it is known, and write them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("recipe", nargs="*", default=USUAL, help=f"of {', '.join(MEASURES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results.json")
    args = parser.parse_args()
    unknown = [name for name in args.recipe if name not in MEASURES]
    if unknown:
        parser.error(f"expected recipes of {', '.join(MEASURES)}, found {', '.join(unknown)}")
    found: list[Measure] = []
    model = Model()
    try:
        for name in args.recipe:
            with tempfile.TemporaryDirectory() as folder:
                for measure in MEASURES[name](Path(folder), model):
                    found.append(measure)
                    print(
                        f"{measure.name:<48}{measure.value:>10,.2f} {measure.unit:<8} {measure.note}",
                        flush=True,
                    )
    finally:
        model.close()
    machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "system": platform.platform()}
    report = {"machine": machine, "measures": [asdict(measure) for measure in found]}
    args.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
