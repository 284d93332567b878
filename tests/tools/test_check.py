import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from endpoint import Answer, Endpoint

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError, ProviderDead
from skillopt.tools.check import preflight

ROOT = Path(__file__).parents[2]
RUN = ROOT / "config" / "searchqa.yaml"
CANARY = "canary-of-check-51"


def check(*overrides, rule=lambda call: Answer(), env=None, call=True):
    """Check a run against an endpoint; `URL` in overrides and in the environment is its address."""

    async def main():
        async with Endpoint(rule) as endpoint:
            given = [text.replace("URL", endpoint.url) for text in overrides]
            around = {name: value.replace("URL", endpoint.url) for name, value in (env or {}).items()}
            resolved = load_run(RUN, given, around)
            lines = await asyncio.to_thread(preflight, resolved, around, call=call)
            return lines, endpoint.calls

    return asyncio.run(main())


COMPATIBLE = ("model.backend=openai_compatible", "model.openai_compatible_base_url=URL")
SAME = (*COMPATIBLE, "model.optimizer=m", "model.target=m")
DIFFERENT = (*COMPATIBLE, "model.optimizer=big", "model.target=small")


def test_each_role_has_a_line_and_a_model_in_common_is_called_once():
    lines, calls = check(*SAME)
    assert len(calls) == 1
    assert len(calls[0].raw) < 250
    assert [line.partition(": ")[0] for line in lines] == [
        "optimizer (openai_compatible, m)",
        "target (openai_compatible, m)",
    ]
    assert all("answered in" in line for line in lines)


def test_different_models_are_called_each():
    _, calls = check(*DIFFERENT, "model.reasoning_effort=low")
    assert sorted(call.body["model"] for call in calls) == ["big", "small"]
    assert {call.body["reasoning_effort"] for call in calls} == {"low"}


def test_a_key_of_one_role_makes_two_calls():
    env = {"OPENAI_COMPATIBLE_API_KEY": "a", "TARGET_OPENAI_COMPATIBLE_API_KEY": "b"}
    _, calls = check(*SAME, env=env)
    assert sorted(call.headers["authorization"] for call in calls) == ["Bearer a", "Bearer b"]


def test_nothing_is_called_when_it_is_switched_off():
    lines, calls = check(*SAME, call=False)
    assert calls == []
    assert all(line.endswith("ready, not called") for line in lines)


def test_all_that_is_missing_is_said_at_once_and_nothing_is_called():
    with pytest.raises(ConfigError) as caught:
        check("model.optimizer_backend=openai_chat", "model.target_backend=minimax_chat")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("optimizer (openai_chat, gpt-5.5): no key")
    assert lines[0].endswith("OPTIMIZER_OPENAI_API_KEY or OPENAI_API_KEY")
    assert lines[1].endswith("TARGET_MINIMAX_API_KEY or MINIMAX_API_KEY")


def test_a_refused_key_is_said_once_for_each_role_without_the_key():
    def refuse(call):
        return Answer(status=401, error=f"wrong key {CANARY}")

    with pytest.raises(ProviderDead) as caught:
        check(*SAME, rule=refuse, env={"OPENAI_COMPATIBLE_API_KEY": CANARY})
    lines = str(caught.value).splitlines()
    assert lines == [
        f"{role} (openai_compatible, m): HTTP 401: wrong key [redacted]. To do: correct the key "
        f"(OPENAI_COMPATIBLE_API_KEY), or model.openai_compatible_base_url (command line)"
        for role in ("optimizer", "target")
    ]


def test_a_key_that_is_missing_is_asked_for_by_the_name_of_its_variable():
    with pytest.raises(ProviderDead) as caught:
        check(*SAME, rule=lambda call: Answer(status=401, error="no key"))
    assert (
        "correct the key (none is set: set TARGET_OPENAI_COMPATIBLE_API_KEY or OPENAI_COMPATIBLE_API_KEY)"
        in str(caught.value).splitlines()[1]
    )


def test_one_silent_role_does_not_hide_which():
    def rule(call):
        return Answer(status=404, error="no such model") if call.body["model"] == "small" else Answer()

    with pytest.raises(ProviderDead) as caught:
        check(*DIFFERENT, rule=rule)
    assert str(caught.value) == (
        "target (openai_compatible, small): HTTP 404: no such model. To do: correct model.target, or "
        "model.openai_compatible_base_url (command line)"
    )


def test_an_address_of_one_role_is_named_as_it_was_set():
    with pytest.raises(ProviderDead) as caught:
        check(*SAME, "model.target_openai_compatible_base_url=URL/v2", rule=lambda call: Answer(status=404))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("or model.openai_compatible_base_url (command line)")
    assert lines[1].endswith("or model.target_openai_compatible_base_url (command line)")


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (Answer(status=403, error="no"), "correct the key (MY_OWN)"),
        (Answer(status=402, error="pay"), "add credit to the account of the key (MY_OWN)"),
        (Answer(status=400, error="unknown model"), "correct model.target, or model.openai_comp"),
        (Answer(status=302, raw=""), "correct model.openai_compatible_base_url (command line)"),
        (
            Answer(raw="<html>Sign in</html>"),
            "correct model.openai_compatible_base_url (command line), or start",
        ),
        (Answer(drop=True), "correct model.openai_compatible_base_url (command line), or start"),
    ],
)
def test_a_failure_says_what_to_do(answer, advice):
    with pytest.raises(ProviderDead) as caught:
        check(
            *SAME,
            "model.openai_compatible_api_key_env=MY_OWN",
            "calls.max_attempts=1",
            rule=lambda call: answer,
            env={"MY_OWN": CANARY, "OPENAI_COMPATIBLE_API_KEY": "another-key"},
        )
    assert f"To do: {advice}" in str(caught.value).splitlines()[1]


OWN = "model.target_openai_compatible_base_url"
BOTH = "model.openai_compatible_base_url"


@pytest.mark.parametrize(
    ("overrides", "env", "named"),
    [
        ([f"{BOTH}=URL"], {}, [BOTH, BOTH]),
        ([f"{BOTH}=URL", f"{OWN}=URL"], {}, [BOTH, OWN]),
        ([f"{BOTH}=URL"], {"TARGET_COMPAT_BASE_URL": "http://127.0.0.1:9"}, [BOTH, BOTH]),
        ([], {"COMPAT_BASE_URL": "URL"}, ["environment variable COMPAT_BASE_URL"] * 2),
        (
            [],
            {"COMPAT_BASE_URL": "URL", "TARGET_OPENAI_COMPATIBLE_BASE_URL": "URL"},
            [
                "environment variable COMPAT_BASE_URL",
                "environment variable TARGET_OPENAI_COMPATIBLE_BASE_URL",
            ],
        ),
    ],
)
def test_what_to_do_names_what_the_user_set(overrides, env, named):
    def rule(call):
        return Answer(status=302, raw="")

    with pytest.raises(ProviderDead) as caught:
        check(
            "model.backend=openai_compatible",
            "model.optimizer=m",
            "model.target=m",
            *overrides,
            rule=rule,
            env=env,
        )
    expected = [f"{name} (command line)" if name.startswith("model.") else name for name in named]
    assert [line.partition("To do: correct ")[2] for line in str(caught.value).splitlines()] == expected


def test_a_setting_that_one_role_has_by_another_key_takes_no_second_call():
    _, calls = check(*SAME, "model.target_openai_compatible_base_url=URL")
    assert len(calls) == 1


def test_settings_of_programs_are_named_as_they_were_set():
    given = [
        "model.backend=codex_exec",
        "model.codex_exec_path=/no/codex",
        "model.target_codex_exec_path=/no/other",
    ]
    with pytest.raises(ConfigError) as caught:
        check(*given, env={"CODEX_API_KEY": CANARY})
    lines = str(caught.value).splitlines()
    assert "'/no/codex' found" in lines[0]
    assert "or set model.codex_exec_path to" in lines[0]
    assert "'/no/other' found" in lines[1]
    assert "or set model.target_codex_exec_path to" in lines[1]


@pytest.mark.parametrize(
    ("backend", "env", "used"),
    [
        (
            "openai_compatible",
            {"OPENAI_COMPATIBLE_API_KEY": "a", "TARGET_OPENAI_COMPATIBLE_API_KEY": "b"},
            ["OPENAI_COMPATIBLE_API_KEY", "TARGET_OPENAI_COMPATIBLE_API_KEY"],
        ),
        (
            "openai_chat",
            {"OPENAI_API_KEY": "a", "AZURE_OPENAI_API_KEY": "b", "OPTIMIZER_OPENAI_API_KEY": "c"},
            ["OPTIMIZER_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"],
        ),
    ],
)
def test_a_refused_key_is_named_by_the_variable_that_was_used(backend, env, used):
    address = "endpoint" if backend == "openai_chat" else "base_url"
    given = [
        f"model.backend={backend}",
        f"model.{backend}_{address}=URL",
        "model.optimizer=m",
        "model.target=m",
    ]
    given += ["model.openai_chat_auth_mode=openai"] if backend == "openai_chat" else []
    with pytest.raises(ProviderDead) as caught:
        check(*given, rule=lambda call: Answer(status=401, error="no"), env=env)
    found = [
        line.partition("correct the key (")[2].partition(")")[0] for line in str(caught.value).splitlines()
    ]
    assert found == used


def test_a_passing_error_is_tried_again():
    def rule(call):
        return Answer(status=503, headers={"Retry-After": "0"}) if call.number == 1 else Answer()

    _, calls = check(*SAME, rule=rule)
    assert len(calls) == 2


def run(*arguments, rule=lambda call: Answer(), **env):
    async def main():
        async with Endpoint(rule) as endpoint:
            given = [text.replace("URL", endpoint.url) for text in arguments]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "skillopt", "check", "searchqa", *given),
                cwd=ROOT,
                env={**os.environ, **env},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate()
            return process.returncode, out.decode(), err.decode(), len(endpoint.calls)

    return asyncio.run(main())


def test_the_command_says_how_it_ended():
    before = sorted(ROOT.glob("results/**"))
    code, out, _, calls = run("--set", *SAME)
    assert (code, len(out.splitlines()), calls) == (0, 2, 1)
    code, out, _, calls = run("--no-call", "--set", *SAME)
    assert (code, calls) == (0, 0)
    assert out.count("ready, not called") == 2
    code, _, err, calls = run("--set", "model.backend=minimax_chat", MINIMAX_API_KEY="")
    assert (code, calls) == (2, 0)
    assert "MINIMAX_API_KEY" in err
    code, _, err, _ = run("--set", *SAME, rule=lambda call: Answer(status=403, error="blocked"))
    assert code == 3
    assert "HTTP 403: blocked" in err
    assert sorted(ROOT.glob("results/**")) == before


def test_the_simulator_needs_nothing():
    code, out, _, _ = run("--set", "model.backend=simulator")
    assert code == 0
    assert json.dumps(out).count("answered in") == 2
