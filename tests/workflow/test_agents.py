"""A whole run in which both models are programs: what comes of it, and what no program ever sees."""

from collections import Counter

from endpoint import Answer
from fakeagents import FakeProgram
from loop import Project, kind_of, leaks, model, rules_in
from programs import OTHERS, OWNER, case

CANARY = "sk-canary-of-a-whole-run-0123"
SMALL = {
    "train__num_epochs": 1,
    "train__batch_size": 3,
    "optimizer__use_slow_update": False,
    "evaluation__eval_test": False,
}


def test_codex_in_both_roles_trains_and_its_key_reaches_nobody_else(server, tmp_path):
    refused = Counter()

    def rule(call):
        kind = kind_of(call)
        if kind in ("target", "failure_summary") and not refused[kind]:
            refused[kind] += 1
            return Answer(status=503, error="busy")
        return model(call)

    server.reset(rule)
    codex = case("codex_target")
    program = FakeProgram(tmp_path / "bin", codex.binary)
    says = f"Authorization: Bearer {{env:{codex.key}}}; key={{env:{codex.key}}}"
    program.does([{"ask": server.url, "refused": says}, *codex.prints("{answer}")])
    (tmp_path / "project").mkdir()
    project = Project(
        tmp_path / "project",
        server.url,
        {**OTHERS, **OWNER, codex.key: CANARY},
        **SMALL,
        model__backend="codex_exec",
        model__codex_exec_path=str(program.path),
        model__openai_compatible_base_url=None,
    )
    running = project.train()
    assert running.code == 0, running.text
    assert project.read("summary.json")["outcome"] == "improved"
    assert rules_in((project.results / "best_skill.md").read_text()) == 2
    assert refused == {"target": 1, "failure_summary": 1}
    totals = project.read("calls.json")["totals"]
    assert sum(entry["failed"] for entry in totals) == 2
    assert project.kept() == len(server.calls) - 2
    assert leaks(project, CANARY, *OTHERS.values()) == []
    assert CANARY not in running.text
    for call in program.calls:
        assert set(call.env) == {"PATH", "HOME", "TMPDIR", "LANG", "CODEX_HOME", codex.key}
        assert call.env.pop(codex.key) == CANARY
        told = [*call.argv, call.stdin, *call.env.values(), *map(str, call.files.values())]
        assert not any(secret in text for secret in (CANARY, *OTHERS.values()) for text in told)
    stdins = [call.stdin for call in program.calls]
    assert sum("task.md" in stdin for stdin in stdins) > sum("JSON" in stdin for stdin in stdins) > 2
