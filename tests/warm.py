"""Dry runs of an engine that is imported once: a process that forks for each, as the import takes longest.

The package is not imported before the fork, so each dry run has the one of its own folder.
"""

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_ENGINE = """
import json, os, sys
from snakemake import cli

cli.get_argument_parser()  # imports the plugins
assert "skillopt" not in sys.modules
for line in sys.stdin:
    given = json.loads(line)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(given["outputs"], 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    os.chdir(given["folder"])
    os.environ.clear()
    os.environ.update(given["env"])
    sys.path[:1] = [given["folder"], *os.environ["PYTHONPATH"].split(os.pathsep)]
    sys.argv = [cli.__file__.replace("cli.py", "__main__.py"), *given["arguments"]]
    cli.main()
    sys.exit("the engine came back")
"""


@cache
def _engine() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _ENGINE]
    engine = subprocess.Popen(
        command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    atexit.register(_end, engine)
    return engine


def _end(engine: subprocess.Popen[str]) -> None:
    engine.communicate()


def dry_run(
    folder: Path, arguments: Sequence[str], env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Do what `python -m snakemake` with these arguments and this environment would do in the folder."""
    engine = _engine()
    assert engine.stdin and engine.stdout
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        given = {"folder": str(folder), "arguments": arguments, "env": dict(env)}
        engine.stdin.write(json.dumps(given | {"outputs": [out.name, err.name]}) + "\n")
        engine.stdin.flush()
        code = int(engine.stdout.readline())
        said = [Path(path.name).read_text(encoding="utf-8") for path in (out, err)]
    return subprocess.CompletedProcess(["snakemake", *arguments], code, *said)
