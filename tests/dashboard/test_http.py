"""The dashboard over HTTP: what it shows, and what it refuses."""

import base64
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from dashboards import Dashboard
from loop import CANARY, KEYS, Hold, Project, leaks, serving, until
from madeup import MadeUp

from skillopt.errors import ConfigError
from skillopt.files import read_json
from skillopt.process import is_running
from skillopt.tools.dashboard import require_packages

EVIL = '</pre></title></style></svg><script>alert(1)</script>"><img src=x onerror=alert(1)> {{ 7 * 7 }}'
SECRET_VALUE = "sk-web-0123456789abcdef0123"
RUN_FILE = (
    "env: {name: searchqa, split_mode: split_dir, split_dir: data}\n"
    "model: {backend: simulator}\n"
    "train: {num_epochs: 1, batch_size: 2}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a finished run, a hostile one, one that is only configured, and a link out of it."""
    folder = tmp_path_factory.mktemp("project")
    MadeUp(folder / "results/fine").whole().called(3)
    evil = MadeUp(folder / "results/evil", say=lambda text: f"{text} {EVIL}").whole()
    (evil.folder / "logs").mkdir(exist_ok=True)
    (evil.folder / "logs/dashboard.log").write_text(f"{EVIL}\n{SECRET_VALUE} and {KEYS_VALUE}\n")
    (folder / "results" / "<script>alert(1)<").mkdir()
    (folder / "results" / "<script>alert(1)<" / "config.json").write_text("{}")
    outside = MadeUp(folder.parent / "outside/results/hidden").whole()
    (folder / "results/linked").symlink_to(outside.folder)
    inner = MadeUp(folder / "results/inner").whole()
    (inner.folder / "skills/skill_v0000.md").unlink()
    (inner.folder / "skills/skill_v0000.md").symlink_to(outside.folder / "best_skill.md")
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config/config.yaml").write_text("train: {seed: 7}\n")
    (folder / "config/mine.yaml").write_text(RUN_FILE)
    (folder / "config/wrong.yaml").write_text(RUN_FILE + "optimizer: {learning_rat: 3}\n")
    address = "{openai_compatible_base_url: 'http://127.0.0.1:9/v1'}"
    (folder / "config/kept.yaml").write_text(f"model: {address}\n")
    (folder / "outside.txt").write_text("outside\n")
    return folder


KEYS_VALUE = KEYS["OPENAI_COMPATIBLE_API_KEY"]


@pytest.fixture(scope="module")
def server(folder):
    dashboard = Dashboard(folder)
    yield dashboard
    dashboard.close()


@pytest.fixture
def signed_in(server):
    server.sign_in()
    yield server
    server.cookie = ""


def test_the_list_shows_each_run_with_its_state(server):
    text = server.get("/").text
    rows = re.findall(r'<a href="/runs/([\w.-]+)">.*?badge [a-z]*">(\w+)<', text, re.DOTALL)
    assert dict(rows) == {
        "fine": "finished", "evil": "finished", "inner": "unreadable", "mine": "unusable",
        "wrong": "unusable", "linked": "unreadable", "made": "unusable", "kept": "unusable",
    }  # fmt: skip
    assert "learning_rat: unknown setting; did you mean optimizer.learning_rate?" in text
    assert "env.split_dir: expected a folder with train, val, test, found none at &#39;data&#39;" in text
    assert "0.000 → 0.250" in text
    assert "Reading only" in text


def test_a_run_shows_scores_decisions_spending_and_a_chart(server):
    text = server.get("/runs/fine").text
    assert "epoch 2 of 2, step 4 of 4" in text
    assert text.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') == 2
    assert "step 4: reject, hard 0.250 -&gt; 0.125" in text
    assert '<td class="n" data-name="calls made">3</td>' in text
    fragment = server.get("/runs/fine/live").text
    assert fragment.lstrip().startswith('<div class="title" data-say="finished, step 4 of 4">')
    assert fragment.strip() in text


def test_a_report_is_written_for_the_page_when_there_is_none(server, folder):
    assert not (folder / "results/fine/report.html").exists()
    got = server.get("/runs/fine/report.html")
    assert "Learning curve" in got.text
    assert got.headers["Content-Security-Policy"].startswith("sandbox allow-same-origin; default-src 'none';")
    assert server.get("/runs/fine/figures/learning.svg").text.startswith("<svg")
    assert server.get("/runs/fine/figures/learning.csv").text.startswith("decision,epoch,action")
    assert not (folder / "results/fine/figures").exists()
    compared = server.get("/compare?run=fine&run=evil").text
    assert "2 runs side by side" in compared
    for text, way in ((got.text, '<a href="/runs/fine">'), (compared, '<a href="/">')):
        assert way in text.partition("<body>")[2].partition("<h1>")[0]


@pytest.mark.parametrize("page", ["/", "/runs/fine", "/new", "/nothing", "/runs/evil/report.html"])
def test_headers(server, page):
    headers = server.get(page).headers
    assert "script-src 'self'" in headers["Content-Security-Policy"] or "report" in page
    assert "unsafe" not in headers["Content-Security-Policy"].replace("style-src 'unsafe-inline'", "")
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


PAGES = ["/", "/runs/evil", "/runs/evil/live", "/runs/evil/report.html", "/compare?run=evil"]


@pytest.mark.parametrize("page", [*PAGES, "/new?like=%3Cscript%3Ealert(1)", "/runs/%3Cscript%3Ealert(1)"])
def test_text_of_models_and_data_is_no_markup(server, page):
    text = server.get(page).text
    assert "<script>alert" not in text
    assert "<img" not in text


def test_secrets_in_a_log_are_not_shown(server):
    text = server.get("/runs/evil").text
    assert text.count("[redacted]") == 2
    assert SECRET_VALUE not in text
    assert CANARY not in text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/runs/../config", 404),
        ("/runs/%2e%2e/report.html", 404),
        ("/runs/..%2f..%2foutside.txt", 404),
        ("/runs/fine/figures/..%2f..%2f..%2foutside.txt", 404),
        ("/runs/fine/figures/outside.txt", 404),
        ("/runs/fine/config.json", 404),
        ("/runs/.calls/report.html", 404),
        ("/runs/linked/report.html", 422),
        ("/runs/inner/report.html", 422),
        ("/runs/config", 404),
        ("/runs/nothing", 404),
        ("/new?like=../../outside", 404),
        ("/static/../app.py", 404),
        ("/compare?run=../outside", 404),
    ],
)
def test_paths_lead_nowhere_else(server, path, code):
    got = server.get(path)
    assert got.code == code
    assert "outside\n" not in got.text
    assert "Rule" not in got.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", "", "10.0.0.1"]
)
def test_another_host_is_refused(server, host):
    assert server.get("/", Host=host).code == 403


def test_names_of_this_machine_are_its_host(server):
    for host in (f"localhost:{server.port}", f"[::1]:{server.port}", "127.0.0.1:9000"):
        assert server.get("/", Host=host).code == 200


def test_reading_is_all_that_a_visitor_may_do(server, folder):
    assert "form_token" not in server.get("/runs/mine/start").text.replace('value=""', "")
    for path in ("/new", "/runs/mine/start", "/runs/mine/stop"):
        got = server.ask("POST", path, {"form_token": "", "name": "x"})
        assert (got.code, "Only reading" in got.text) == (401, True)
    assert server.get("/sign-in?token=wrong").code == 401
    assert server.get("/sign-in").code == 401
    assert not (folder / "results/mine").exists()


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": None},
     {"Origin": "http://127.0.0.1:1"}],
)  # fmt: skip
def test_a_form_of_another_site_is_refused(signed_in, folder, headers):
    got = signed_in.post("/runs/mine/start", **headers)
    assert (got.code, "another site" in got.text) == (403, True)
    assert not (folder / "results/mine").exists()


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_form_needs_the_token_of_the_session(signed_in, folder, token):
    signed_in.get("/new")
    got = signed_in.ask("POST", "/runs/mine/start", {"form_token": token})
    assert (got.code, "not from this session" in got.text) == (403, True)
    assert not (folder / "results/mine").exists()


def test_the_token_of_another_session_is_none(signed_in, folder):
    old = signed_in.token()
    signed_in.cookie = ""
    signed_in.sign_in()
    assert signed_in.token() != old
    assert signed_in.ask("POST", "/runs/mine/start", {"form_token": old}).code == 403


def test_only_who_may_act_sees_how_and_only_where_it_is_possible(signed_in):
    assert 'href="/runs/mine/start"' in signed_in.get("/runs/mine").text
    assert "/start" not in signed_in.get("/runs/fine").text  # it has no configuration any more
    signed_in.cookie = ""
    assert "/start" not in signed_in.get("/runs/mine").text


def test_other_methods_and_large_forms_are_refused(signed_in):
    assert signed_in.get("/runs/mine/stop").code == 422  # a page that confirms, and nothing is at work
    assert signed_in.ask("DELETE", "/runs/mine").code == 403
    assert signed_in.post("/new", {"extra": "x" * 300_000}).code == 413


def test_a_wrong_configuration_is_told_before_it_starts(signed_in, folder):
    for got in (signed_in.get("/runs/wrong/start"), signed_in.post("/runs/wrong/start")):
        assert "did you mean optimizer.learning_rate?" in got.text
        assert got.code in (409, 422)
    assert not (folder / "results/wrong").exists()


def test_a_cookie_is_for_this_site_alone(server):
    cookie = server.get(server.link.removeprefix(server.address)).headers["Set-Cookie"]
    assert cookie.startswith(f"skillopt_{server.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    server.cookie = ""


def test_a_login_is_asked_for_everywhere(folder):
    environment = {"SKILLOPT_WEBUI_USER": "ann", "SKILLOPT_WEBUI_PASS": "pass é word"}
    dashboard = Dashboard(folder, "--host", "0.0.0.0", **environment)
    try:
        assert "token" not in dashboard.link
        dashboard.address = f"http://127.0.0.1:{dashboard.port}"
        for path in ("/", "/runs/fine", "/static/page.css"):
            got = dashboard.get(path)
            assert got.code == 401
            assert "Basic" in got.headers["WWW-Authenticate"]
        assert dashboard.get("/", Authorization=basic("ann", "wrong")).code == 401
        assert dashboard.get("/", Authorization=basic("bob", "pass é word")).code == 401
        assert dashboard.get("/", Authorization="Basic ####").code == 401
        assert dashboard.ask("POST", "/runs/mine/start", {}).code == 401
        right = {"Authorization": basic("ann", "pass é word")}
        assert dashboard.get("/", **right).code == 200
        assert dashboard.get("/", **right, Host="evil.example").code == 403
        assert dashboard.get("/", **right, Host=f"{socket.gethostname()}:{dashboard.port}").code == 200
        assert dashboard.ask("POST", "/runs/mine/start", {}, **right).code == 403
        form = dashboard.get("/new?like=kept", **right).text
        assert "model.openai_compatible_base_url=http://127.0.0.1:9/v1" in form  # a line, no field
        assert 'name="model.openai_compatible_base_url"' not in form
        token = re.search(r'form_token" value="([^"]+)"', form)[1]
        sent = {"form_token": token, "name": "new", "extra": "model.openai_compatible_base_url=http://evil"}
        got = dashboard.ask("POST", "/new", sent, **right, Origin=dashboard.address)
        assert (got.code, "can be reached from other machines" in got.text) == (422, True)
    finally:
        dashboard.close()
    assert not (folder / "results/mine").exists()


def test_of_four_starts_one_is_done_and_its_environment_lacks_the_password(tmp_path):
    with serving() as endpoint:
        project = Project(tmp_path / "project", endpoint.url)
        endpoint.rule = hold = Hold(endpoint, lambda call, seen: True)
        login = {"SKILLOPT_WEBUI_USER": "ann", "SKILLOPT_WEBUI_PASS": "canary-password"}
        dashboard = Dashboard(project.folder, **login)
        right = {"Authorization": basic("ann", "canary-password")}
        token = re.search(r'form_token" value="([^"]+)"', dashboard.get("/new", **right).text)[1]
        with ThreadPoolExecutor() as pool:
            asked = (token, dashboard.seen("loop", **right), *right.values())
            starts = [pool.submit(start_once, dashboard, *asked) for _ in range(4)]
        assert sorted(future.result().code for future in starts) == [303, 409, 409, 409]
        hold.wait()
        pid = read_json(project.results / "logs/dashboard.json", dict)["pid"]
        environment = psutil.Process(pid).environ()
        assert "SKILLOPT_WEBUI_PASS" not in environment
        assert environment["OPENAI_COMPATIBLE_API_KEY"].startswith(CANARY)
        stopped = dashboard.ask("POST", "/runs/loop/stop", {"form_token": token}, **right)
        assert stopped.code == 303
        until(lambda: not is_running(pid))
        dashboard.close()
        assert leaks(project, "canary-password", CANARY) == []


def start_once(dashboard, token, seen, authorization):
    form = {"form_token": token, "seen": seen}
    return dashboard.ask("POST", "/runs/loop/start", form, Authorization=authorization)


def test_a_folder_without_runs(tmp_path):
    dashboard = Dashboard(tmp_path)
    assert "There is no run in this folder yet" in dashboard.get("/").text
    assert dashboard.get("/compare").code == 404
    assert list(tmp_path.iterdir()) == []
    dashboard.close()


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "others could read and start runs"),
        (["--host", "192.0.2.1", "--auth-user", "ann"], "found one of them"),
        (["--auth-pass", "x"], "found one of them"),
        (["--share"], "unrecognized arguments: --share"),
    ],
)
def test_what_is_refused_at_the_start(tmp_path, arguments, says):
    command = [sys.executable, "-m", "skillopt", "dashboard", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_missing_package_is_named_with_what_installs_it():
    with pytest.raises(ConfigError, match=r"needs waitress.*python -m pip install 'skillopt\[dashboard\]'"):
        require_packages(lambda name: None if name == "waitress" else object())
