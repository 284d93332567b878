"""What the rules share: the runs, the wildcards, and the functions that name inputs and params.

Paths are relative to the working directory. A run is read and planned when a rule first asks for
it, so that one broken run does not keep the others from being built.
"""

import os
import shlex
import sys
import threading
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from skillopt.basis import basis_of_jobs
from skillopt.config.resolve import load_run
from skillopt.config.skillnames import NAME, OWN, problems_of
from skillopt.errors import SkillOptError
from skillopt.files import read_json
from skillopt.made import BASIS
from skillopt.naming import RUN_NAME
from skillopt.phases.plan import plan_run, write_records
from skillopt.phases.summary import Summary, table
from skillopt.runs import Run
from skillopt.standing import lost_outputs
from skillopt.sources.benchmarks import SOURCES
from skillopt.tools.materialise import MANIFESTS, missing_manifest
from skillopt.places import require_folders
from skillopt.process import watched_by_jobs
from skillopt.tools.begin import begin, end_in_order
from skillopt.tools.workflow import workflow_root

# The engine builds its graph recursively: about three frames for each chained job.
sys.setrecursionlimit(200_000)

# Two lines for each job that say nothing, among those of the phases that do.
logger.addFilter(
    lambda record: not str(record.msg).startswith(("Select jobs to", "Execute "))
)

# A module's `prefix` changes the paths of rules, and not those that commands are told.
if workflow.modifier.modify_path("results/run") != "results/run":
    raise WorkflowError(
        "module with prefix: results lie in results/<run>/ of the working directory; "
        "use `workdir:` or --directory to have them elsewhere"
    )

# Jobs find the `skillopt` of this environment even when it is not activated, and stop when the process
# that started them is gone (kill -9 would leave them running).
shell.prefix(
    f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    f" SKILLOPT_WATCH_PID={watched_by_jobs()}; "
)


wildcard_constraints:
    run=RUN_NAME,
    step=r"(?!0000)\d{4}",
    epoch=r"\d{2}",
    # ... of any skill on any split; the initial one on the selection split has a rule of its own.
    evaluation=rf"(?!val/initial/)(?:train|val|test)/{NAME}",
    split="train|val|test",


def requested_runs():
    """Return the runs of the default target: `--config runs="a b"`, else the one that ships."""
    return str(config.get("runs") or "searchqa").split()


def run_file_of(name):
    """Return a run's configuration: of the working directory, else the one that ships."""
    own = Path("config", f"{name}.yaml")
    shipped = workflow_root() / own
    return shipped if shipped.exists() and not own.exists() else own


EVALUATED_BEFORE = {
    "test/best": ["test/initial"],
    "test/last": ["test/initial", "test/best"],
}
PLANNED = {}


def given_overrides():
    """Return the settings of the command: `--config set="section.key=value ..."`, or a list of them."""
    given = config.get("set") or ""
    try:
        return (
            [str(part) for part in given]
            if isinstance(given, list)
            else shlex.split(str(given))
        )
    except ValueError as error:
        raise WorkflowError(f"--config set: {error} in {given!r}") from None


OVERRIDES = given_overrides()


def run_of(name):
    """Return a planned run; its problems end the command before anything is paid for."""
    on_start(begin_runs)
    if name not in PLANNED:
        try:
            resolved = load_run(run_file_of(name), OVERRIDES, os.environ)
            PLANNED[name] = Run(resolved, *plan_run(name, resolved))
            require_folders(Path("results"), PLANNED[name])
            do_again_what_was_lost(name)
        except SkillOptError as error:
            raise WorkflowError(f"run {name}: {error}") from None
    return PLANNED[name]


def do_again_what_was_lost(name):
    """Have jobs done again whose files an attempt that failed has cost, as the engine does after a kill.

    By itself it would leave out the attempt, and mix what was made before a change with what is made after.
    """
    folder = Path("results", name)
    if (folder / BASIS).exists():
        basis = dict(basis_of_jobs(PLANNED[name]))
        lost = lost_outputs(folder, basis, begun=begun_jobs(folder))
        workflow.dag.forcefiles.update(f"results/{name}/{file}" for file in lost)


def begun_jobs(folder):
    """Return a function: which files of a run the engine has noted as those of jobs that did not end."""

    def begun(names):
        keys = {str(folder / name): name for name in names}
        return {keys[key] for key in workflow.persistence._filter_incomplete_keys(keys)}

    return begun


@cache
def on_start(action):
    """Have something done when the first job is about to run, and never in a dry run.

    Registered once the Snakefiles are read, in addition to what they have `onstart`: the engine does
    not heed that of a module, and a Snakefile that uses this one may have its own.
    """
    theirs = workflow.globals.get("onstart", lambda: None)

    def both(log):
        action()
        theirs()

    workflow.onstart(both)


def begin_runs():
    """Write config.json and plan.json of all planned runs where they are missing or have changed.

    A job could not do it. When one has to run, the engine does not look at the params of those
    below it and, its output being an `ancient` input, takes them for done.
    """
    end_in_order()
    for name, run in PLANNED.items():
        try:
            write_records(Path("results", name), run.resolved, run.plan)
            begin(run, Path("results"), training=config.get("forecast") != "off")
        except SkillOptError as error:
            raise WorkflowError(f"run {name}: {error}") from None


def below(wildcards, paths):
    """Put the run's folder before one path or several."""
    if isinstance(paths, str):
        return f"results/{wildcards.run}/{paths}"
    return [f"results/{wildcards.run}/{path}" for path in paths]


def step_input(method):
    """Return an input function: the file that `Run.<method>(step)` names."""
    return lambda wildcards: below(
        wildcards, getattr(run_of(wildcards.run), method)(int(wildcards.step))
    )


def epoch_input(method, *arguments):
    """Return an input function: the file that `Run.<method>(epoch, ...)` names."""
    return lambda wildcards: below(
        wildcards,
        getattr(run_of(wildcards.run), method)(int(wildcards.epoch), *arguments),
    )


def run_input(method):
    """Return an input function: the file or files that `Run.<method>()` names."""
    return lambda wildcards: below(wildcards, getattr(run_of(wildcards.run), method)())


def deciding(phase):
    """Return a param function: the settings that decide a phase's output, as one string."""
    return lambda wildcards: run_of(wildcards.run).deciding(phase)


def width(setting):
    """Return a resource function: how many calls a phase wants in flight."""
    section, key = setting.split(".")
    return lambda wildcards: getattr(
        getattr(run_of(wildcards.run).resolved.settings, section), key
    )


def prompts(phase):
    """Return a param function: a hash of the prompts that a phase uses."""
    return lambda wildcards: run_of(wildcards.run).prompts[phase]


def compared_skill(which):
    """Return an input function: the previous (0) or the current (1) skill of a comparison."""
    return lambda wildcards: below(
        wildcards, run_of(wildcards.run).compared_skills(int(wildcards.epoch))[which]
    )


def comparison(name):
    """Return an input function: a file of the epoch's comparison, none in epoch 1."""

    def files(wildcards):
        folder = run_of(wildcards.run).comparison(int(wildcards.epoch))
        return below(wildcards, [f"{folder}/{name}"] if folder else [])

    return files


def sample_width(wildcards):
    """Return how many calls an epoch's sample wants in flight: no more than it has items."""
    run = run_of(wildcards.run)
    workers = run.resolved.settings.env.workers
    return min(workers, run.epoch(int(wildcards.epoch)).sample)


def evaluated_skill(wildcards):
    """Return the skill file of an evaluation such as test/best; nothing for test/none."""
    name = wildcards.evaluation.split("/")[1]
    if name not in OWN:
        return named_skill(wildcards.run, name)
    named = {"none": [], "initial": "skills/skill_v0000.md", "best": "best_skill.md"}
    return below(wildcards, named.get(name, run_of(wildcards.run).last_skill()))


def evaluated_before(wildcards):
    """Return the scores of the skills whose rows are taken over when the texts are equal."""
    return below(
        wildcards, [f"eval/{name}/scores.json" for name in same_before(wildcards)]
    )


def evaluated_state(wildcards):
    """Return the last gate record, which names the rows of every text the selection split has seen."""
    if wildcards.evaluation != "val/last":
        return []
    return below(wildcards, run_of(wildcards.run).last_gate())


def evaluated_items(wildcards):
    """Return a hash of the items of the evaluated split."""
    return run_of(wildcards.run).split_digest(wildcards.evaluation.split("/")[0])


def print_tables():
    """Print the score table of every run that this command dealt with and that is finished."""
    if config.get("table") == "off":
        return
    for name in sorted(PLANNED):
        path = Path("results", name, "summary.json")
        if path.exists():
            print(f"\n{table(read_json(path, Summary))}")


def end_timers():
    """End the engine's timers: one would keep its process for a second after the last job."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


def manifest_folder(wildcards):
    """Return the folder of a benchmark's split manifest."""
    manifest = SOURCES[wildcards.benchmark].manifest
    return str(Path(config.get("manifests", MANIFESTS), manifest))


def manifest_files(wildcards):
    """Return the files of a benchmark's split manifest."""
    folder = Path(manifest_folder(wildcards))
    if not folder.is_dir():
        raise WorkflowError(missing_manifest(wildcards.benchmark, folder))
    return [str(folder / split / "items.json") for split in ("train", "val", "test")]


def local_source():
    """Return the option that names a folder with the files of a data set, where the command has one."""
    return ["--source", str(config["source"])] if "source" in config else []


def in_report(path, caption, title, form="page"):
    """Return an output of a run that `snakemake --report` shows, with its caption."""
    return report(
        f"results/{{run}}/{path}",
        caption=f"../workflow/report/{caption}.rst",
        category="{run}",
        labels={"result": title, "form": form},
    )


def figures():
    """Return the figures of a run and their data, as outputs."""
    titles = {
        "learning": "Learning curve",
        "scores": "Scores",
        "task_types": "Scores by task type",
        "patterns": "Failure patterns",
        "usage": "Calls and tokens",
    }
    return {
        f"{name}_{kind}": in_report(f"figures/{name}.{kind}", name, title, form)
        for name, title in titles.items()
        for kind, form in (("svg", "picture"), ("csv", "data"))
    }
