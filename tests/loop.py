"""A whole training run against a scripted endpoint: a project, a server in a thread, a scripted model."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from endpoint import Answer, Call, Endpoint, Rule

ROOT = Path(__file__).parents[1]
CANARY = "canary-of-the-loop-7d21"
KEYS = {
    "OPENAI_COMPATIBLE_API_KEY": f"{CANARY}-shared",
    "OPTIMIZER_OPENAI_COMPATIBLE_API_KEY": f"{CANARY}-optimizer",
    "TARGET_OPENAI_COMPATIBLE_API_KEY": f"{CANARY}-target",
}
ODD_IDS = ("a/b", "../up", "späte ü", "{{ x }}", "q'\"", "-n", "#6", "c\u0007c")
TRAIN = ("skillopt", "train", "loop", "--cores", "4", "--verbose", "--", "-p")
SIZES = {"train": 6, "val": 4, "test": 4}
_OWN = "--skill results/loop/steps/"
IGNORED = ("calls.json", "report.html", "figures/usage.svg", "figures/usage.csv", "logs", ".failure.json")


class Server:
    """An endpoint in a thread. `rule` may be replaced between runs; `calls` can be cleared."""

    def __init__(self) -> None:
        self.rule: Rule = lambda call: Answer()
        self.answered: Counter[bytes] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._endpoint = Endpoint(self._answer)
        self._on_loop(self._endpoint.__aenter__())

    async def _answer(self, call: Call) -> Answer:
        answer = self.rule(call)
        if not isinstance(answer, Answer):
            answer = await answer
        fine = answer.status == 200 and answer.raw is None and answer.finish_reason != "error"
        if fine and answer.text and not answer.drop:
            self.answered[call.headers.get("authorization", "").encode() + call.raw] += 1
        return answer

    @property
    def url(self) -> str:
        return self._endpoint.url

    @property
    def calls(self) -> list[Call]:
        return self._endpoint.calls

    @property
    def repeated(self) -> int:
        """How many calls were made again though they had been answered."""
        return sum(count - 1 for count in self.answered.values())

    def reset(self, rule: Rule) -> None:
        self.rule = rule
        self.answered.clear()
        self._endpoint.calls.clear()

    def freeze(self) -> None:
        """From now on, until `reset`, no call is answered."""
        self._on_loop(self._freeze())

    async def _freeze(self) -> None:
        self.rule = _never

    def release(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)

    def close(self) -> None:
        self._on_loop(self._endpoint.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _on_loop(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)


async def _never(call: Call) -> Answer:
    await asyncio.Event().wait()
    return Answer()


def is_optimizer(call: Call) -> bool:
    return "JSON object" in call.body["messages"][0]["content"]


def kind_of(call: Call) -> str:
    """Which phase asks, by the keys that its system prompt names."""
    system = call.body["messages"][0]["content"]
    for key in ("failure_summary", "success_patterns", "selected_indices", "slow_update_content"):
        if f'"{key}"' in system:
            return key
    if '"meta_skill_content"' in system:
        return "meta_skill_content"
    if '"edits"' in system:
        return "merge"
    return "target" if "quiz questions" in system else "preflight"


def rules_in(text: str) -> int:
    return len(re.findall(r"^- RULE \d+", text, re.MULTILINE))


def model(call: Call) -> Answer:
    """A target that knows an item when the skill has enough rules, and an optimizer that adds rules."""
    kind = kind_of(call)
    if kind == "preflight":
        return Answer(text="OK")
    if kind == "target":
        number, level = (int(n) for n in re.search(r"thing (\d+) of level (\d+)", call.prompt).groups())
        known = rules_in(call.body["messages"][0]["content"]) >= level
        return Answer(text=f"<answer>{f'gold {number}' if known else 'nothing'}</answer>")
    return Answer(text=json.dumps(optimizer(kind, call)))


def optimizer(kind: str, call: Call) -> dict[str, Any]:
    skill = call.prompt.partition("## The current skill")[2].partition("\n## ")[0]
    number = rules_in(skill) + 1
    edits = [{"op": "append", "content": f"- RULE {number}: look closer."}]
    return {
        "failure_summary": {
            "failure_summary": [{"failure_type": "rule_missing", "count": 1, "description": "no rule"}],
            "patch": {"reasoning": "r", "edits": edits},
        },
        "success_patterns": {"success_patterns": [], "patch": {"reasoning": "r", "edits": []}},
        "merge": {"reasoning": "m", "edits": edits},
        "selected_indices": {"reasoning": "s", "selected_indices": [0]},
        "slow_update_content": {"reasoning": "g", "slow_update_content": "Look at the level first."},
        "meta_skill_content": {"reasoning": "n", "meta_skill_content": "One rule at a time."},
    }[kind]


class Project:
    """A folder with a run named `loop`."""

    def __init__(
        self, folder: Path, url: str, env: Mapping[str, str] = MappingProxyType({}), **settings: Any
    ) -> None:
        self.folder = folder
        self.env = dict(env)
        self.results = folder / "results" / "loop"
        self._url = url
        write_items(folder / "data")
        self.configure(**settings)

    def configure(self, **settings: Any) -> None:
        """Write the run's file; a setting is named `section__key`, None takes it out."""
        found: dict[str, dict[str, Any]] = {
            "train": {"num_epochs": 2, "batch_size": 6},
            "gradient": {"minibatch_size": 3},
            "optimizer": {"slow_update_samples": 2},
            "env": {"name": "searchqa", "split_mode": "split_dir", "split_dir": "data", "workers": 3},
            "model": {"backend": "openai_compatible", "openai_compatible_base_url": self._url},
            "calls": {"max_wait": 0.05, "max_attempts": 3},
        }
        for name, value in settings.items():
            section, _, key = name.partition("__")
            found.setdefault(section, {})[key] = value
            if value is None:
                del found[section][key]
        if found["train"].get("num_epochs") == 1:  # one epoch is compared with none
            found["optimizer"].pop("slow_update_samples", None)
        path = self.folder / "config" / "loop.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found))  # JSON is YAML

    def start(self, *command: str) -> "Running":
        """Start a command (`skillopt train loop` when none is given) as a process group of its own."""
        return Running(self.folder, command or TRAIN, self.env)

    def train(self) -> "Running":
        """Train to the end."""
        return self.start().wait()

    def commands(self, running: "Running") -> dict[str, str]:
        """Return the last command line of each phase, as `-p` printed it."""
        lines = re.findall(r"^Shell command: skillopt ((\w+) --.*)$", running.text, re.MULTILINE)
        steps = {f"{phase}_step": line for line, phase in lines if "--step " in line or _OWN in line}
        return {phase: line for line, phase in lines} | steps

    def status(self) -> int:
        return self.start("skillopt", "status", "results/loop").wait().code

    def read(self, path: str) -> Any:
        return json.loads((self.results / path).read_text())

    def rows(self, path: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.results / path).read_text().splitlines()]

    def files(self) -> dict[str, bytes]:
        """All result files by name, without how long calls took (which no two runs share)."""
        paths = (path for path in sorted(self.results.rglob("*")) if path.is_file())
        names = {path.relative_to(self.results).as_posix(): path for path in paths}
        return {name: _timeless(path) for name, path in names.items() if not _ignored(name)}

    def all_kept(self, server: Server) -> bool:
        """Whether every call that was answered is in the call store."""
        return self.kept() == len(server.answered)

    def kept(self) -> int:
        """How many replies the call store holds."""
        return sum(1 for _ in (self.folder / "results/.calls/replies").glob("*/*.json"))


class Running:
    """A command on its way, or its end: `code` and `text`."""

    def __init__(self, folder: Path, command: tuple[str, ...], more: Mapping[str, str]) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._output = (folder / "output.txt").open("w+b")
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | KEYS | {"PATH": path, "PYTHONPATH": str(ROOT)} | more,
        )

    def wait(self) -> "Running":
        self.process.wait(timeout=120)
        return self

    def signal_all(self, number: int) -> None:
        """Send a signal to the whole group, as a terminal does."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """kill -9 of everything."""
        self.signal_all(signal.SIGKILL)
        self.process.wait(timeout=60)
        until(lambda: not _group_lives(self.process.pid))

    @property
    def code(self) -> int:
        return self.process.returncode

    @property
    def text(self) -> str:
        self._output.seek(0)
        return self._output.read().decode()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition; fail when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.005)


class Hold:
    """Answers by a rule until a call holds; that call and all later ones stay unanswered until released."""

    def __init__(self, server: Server, when: Callable[[Call, int], bool], rule: Rule = model) -> None:
        self._server = server
        self._when = when
        self._rule = rule
        self._seen = 0
        self._open = asyncio.Event()
        self.reached = threading.Event()

    async def __call__(self, call: Call) -> Answer:
        self._seen += 1
        if self.reached.is_set() or self._when(call, self._seen):
            self.reached.set()
            await self._open.wait()
        answer = self._rule(call)
        return answer if isinstance(answer, Answer) else await answer

    def wait(self) -> None:
        assert self.reached.wait(90), "the call to hold did not come"

    def release(self) -> None:
        self._server.release(self._open)


def leaks(project: Project, *secrets: str) -> list[str]:
    """Files of the project, logs and the engine's metadata included, that hold a key."""
    paths = [path for path in project.folder.rglob("*") if path.is_file()]
    keys = [secret.encode() for secret in secrets or (CANARY,)]
    return [str(path) for path in paths if any(key in path.read_bytes() for key in keys)]


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def write_items(folder: Path) -> None:
    number = 0
    for split, size in SIZES.items():
        entries = []
        for place in range(size):
            number += 1
            entries.append(
                {
                    "id": f"{split} {ODD_IDS[place]}",
                    "question": f"What is thing {number} of level {place % 3 + 1}?",
                    "context": f"[DOC] Thing {number} is gold {number}. {{% raw %}} $skill \x1b[31m",
                    "answers": [f"gold {number}"],
                }
            )
        (folder / split).mkdir(parents=True, exist_ok=True)
        (folder / split / "items.json").write_text(json.dumps(entries))


def _ignored(name: str) -> bool:
    return name in IGNORED or name.startswith("logs/")


def _timeless(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".jsonl":
        return content
    rows = [msgspec.json.decode(line) | {"seconds": 0} for line in content.splitlines()]
    return b"\n".join(msgspec.json.encode(row) for row in rows)
