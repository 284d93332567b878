"""The dashboard against damaged and hostile folders, requests and settings."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys

import pytest
from dashboards import Dashboard
from loop import until
from madeup import MadeUp

ITEMS = '[{"id": "%s", "question": "q?", "context": "[DOC] c", "answers": ["a"]}]'
KEY = "sk-hostile-0123456789abcdef"
RUN_FILE = (
    "env: {name: searchqa, split_mode: split_dir, split_dir: data}\n"
    "model: {backend: simulator}\n"
    "train: {num_epochs: 1, batch_size: 1}\n"
)
HERE = socket.gethostname()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data, runs, and configurations that cannot be used."""
    folder = tmp_path_factory.mktemp("project")
    for split in ("train", "val", "test"):
        (folder / "data" / split).mkdir(parents=True)
        (folder / "data" / split / "items.json").write_text(ITEMS % split)
    (folder / "config").mkdir()
    (folder / "config/mine.yaml").write_text(RUN_FILE)
    (folder / "config/bytes.yaml").write_bytes(b"\xff" + RUN_FILE.encode())
    keyed = RUN_FILE.replace("simulator", KEY) + f"budget: {{max_calls: {KEY}}}\n"
    (folder / "config/keyed.yaml").write_text(keyed)
    for name in ("fine", "hurt"):
        MadeUp(folder / "results" / name).whole().called(3)
    return folder


@pytest.fixture(scope="module")
def server(folder):
    dashboard = Dashboard(folder)
    dashboard.sign_in()
    yield dashboard
    dashboard.close()


@pytest.fixture
def hurt(folder):
    """A run to damage, that is as it was for the next test."""
    run = folder / "results/hurt"
    yield run
    shutil.rmtree(run, ignore_errors=True)
    run.unlink(missing_ok=True)
    for accounts in (calls_of(run), calls_of(run, "times")):
        accounts.unlink() if accounts.is_symlink() else shutil.rmtree(accounts, ignore_errors=True)
    MadeUp(run).whole().called(3)


def calls_of(run, what="ledger"):
    return run.parent / ".calls" / what / run.name


def state_of(server, name):
    return re.search(rf'<a href="/runs/{name}">.*?badge [a-z]*">(\w+)<', server.get("/").text, re.DOTALL)[1]


def link_out(run):
    hidden = MadeUp(run.parents[2] / "outside" / "results" / "hidden").whole().folder
    (run / "steps/step_0002/gate.json").unlink()
    (run / "steps/step_0002/gate.json").symlink_to(hidden / "steps/step_0002/gate.json")


def circle(run):
    (run / "circle").symlink_to("circle")


def pipe(run):
    (run / "summary.json").unlink()
    os.mkfifo(run / "summary.json")


def pipe_in_the_logs(run):
    (run / "logs").mkdir(exist_ok=True)
    os.mkfifo(run / "logs/dashboard.json")


def pipe_in_the_accounts(run):
    os.mkfifo(calls_of(run) / "0.jsonl")


def link_in_the_accounts(run):
    (calls_of(run) / "0.jsonl").symlink_to("/etc/passwd")


def accounts_elsewhere(run):
    calls_of(run, "times").parent.mkdir(exist_ok=True)
    calls_of(run, "times").symlink_to("/etc")


def gigabytes(run):
    with (run / "summary.json").open("r+b") as file:
        file.truncate(3 * 1024**3)


DAMAGES = [link_out, pipe, pipe_in_the_logs, circle]
OF_CALLS = [pipe_in_the_accounts, link_in_the_accounts, accounts_elsewhere]


@pytest.mark.parametrize("damage", [*DAMAGES, *OF_CALLS, gigabytes])
def test_only_files_below_the_results_are_read_on_every_page(server, hurt, damage):
    damage(hurt)
    assert (state_of(server, "hurt"), state_of(server, "fine")) == ("unreadable", "finished")
    for page in ("/runs/hurt", "/runs/hurt/live"):
        text = server.get(page).text
        assert re.search("found a link out of it|found neither|found 3,072 MB: no run writes that", text)
        assert "Learning curve" not in text
    assert server.get("/runs/hurt/figures/learning.svg").code == 422
    assert server.get("/compare?run=hurt").code == 422
    assert "1 run" in server.get("/compare").text


SIGN = {"command": "x", "started": 0, "beat": 99999999999}


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("a.failure.json", {"command": "rollout", "exit_code": 77, "message": "m"}),
        ("a.progress.json", {**SIGN, "host": HERE, "pid": 9999999999}),
        ("dashboard.json", {"pid": -1, "mark": "", "start": "", "host": HERE}),
        ("dashboard.json", {"pid": 99999999999999, "mark": "", "start": "", "host": HERE}),
    ],
)
def test_a_record_with_numbers_that_nothing_has_breaks_no_page(server, hurt, name, record):
    (hurt / "logs").mkdir(exist_ok=True)
    (hurt / "logs" / name).write_text(json.dumps(record))
    assert [server.get(page).code for page in ("/", "/runs/hurt", "/compare")] == [200, 200, 200]
    assert server.get("/runs/hurt/stop").code == 422


@pytest.mark.parametrize("score", [-5, 1.5, 9e99])
def test_rows_with_scores_that_nothing_has_break_no_page(server, hurt, score):
    path = hurt / "eval/test/initial/rollouts.jsonl"
    path.write_text(re.sub(r'"(hard|soft)":[\d.]+', rf'"\1":{score}', path.read_text()))
    codes = [server.get(page).code for page in ("/", "/runs/hurt", "/runs/hurt/report.html", "/compare")]
    assert codes == [200, 200, 200, 200]
    assert "initial/rollouts.jsonl" in server.get("/runs/hurt/report.html").text


def test_a_run_that_is_a_circle_of_links_breaks_no_page(server, hurt):
    shutil.rmtree(hurt)
    hurt.symlink_to("hurt")
    assert server.get("/").code == 200
    assert {server.get(f"/runs/hurt/{page}").code for page in ("report.html", "start")} <= {404, 422}


def test_a_report_of_a_file_has_a_way_back_and_stays_as_it_is(server, hurt):
    file = hurt / "report.html"
    file.write_text("<head></head><body><h1>hurt</h1></body>")
    text = server.get("/runs/hurt/report.html").text
    way = text.removeprefix("<head></head><body>").removesuffix("<h1>hurt</h1></body>")
    assert re.findall('href="([^"]+)"', way) == ["/", "/runs/hurt"]
    assert file.read_text() == "<head></head><body><h1>hurt</h1></body>"


def test_while_a_run_is_done_again_its_report_is_not_that_of_before(server, hurt):
    (hurt / "report.html").write_text("<body>of before")
    assert "of before" in server.get("/runs/hurt/report.html").text
    (hurt / "steps/step_0004/gate.json").unlink()
    text = server.get("/runs/hurt/report.html").text
    assert "<body>of before" not in text
    assert "decisions that have not been made: step 4" in text


def test_a_report_is_sent_as_it_is(server, hurt):
    (hurt / "report.html").write_bytes(b"<p>\xff</p>")
    got = server.get("/runs/hurt/report.html")
    assert (got.code, got.text) == (200, "<p>\ufffd</p>")
    assert got.headers["Content-Type"] == "text/html; charset=utf-8"
    assert got.headers["Content-Security-Policy"].startswith("sandbox allow-same-origin;")
    assert got.headers["Cache-Control"] == "no-store"


def test_a_configuration_of_other_bytes_is_told(server):
    got = server.get("/runs/bytes/start")
    assert (got.code, "expected UTF-8 text" in got.text) == (422, True)


def test_a_configuration_that_would_take_minutes_to_read_is_told(folder, server):
    with (folder / "config/large.yaml").open("wb") as file:
        file.truncate(30 * 1024**2)
    assert state_of(server, "large") == "unreadable"
    assert "found 30 MB: no run writes that" in server.get("/runs/large").text
    for page in ("/runs/large/start", "/new?like=large"):
        got = server.get(page)
        assert (got.code, "expected at most 1024 kB of YAML, found 30,720 kB" in got.text) == (422, True)
    (folder / "config/large.yaml").unlink()


@pytest.mark.parametrize("page", ["/runs/keyed/start", "/new?like=keyed"])
def test_a_key_in_a_file_is_not_shown_with_its_problem_nor_in_a_form(server, page):
    assert KEY not in server.get(page).text


@pytest.mark.parametrize(
    ("site", "mode", "dest", "code"),
    [
        ("cross-site", "no-cors", "image", 403),
        ("same-site", "cors", "empty", 403),  # another port of this machine
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "navigate", "document", 200),
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
    ],
)
def test_pages_of_other_sites_may_link_here_and_load_nothing(server, site, mode, dest, code):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    assert server.get("/runs/mine/start", **headers).code == code


@pytest.mark.parametrize("host", ["127.0.0.1:1, evil.example", "127.0.0.1:evil", "[::1]evil.example", "[::1"])
def test_what_is_no_host_is_refused(server, host):
    assert server.get("/", Host=host).code == 403


def test_many_slow_connections_keep_nobody_out(server):
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    assert server.get("/static/page.css").code == 200
    for connection in slow:
        connection.close()


def test_a_name_that_ends_like_a_file_is_started_as_itself(folder, server):
    """`train mine.yaml` is the run `mine`."""
    (folder / "config/mine.yaml.yaml").write_text(RUN_FILE)
    assert server.post("/runs/mine.yaml/start", {"seen": server.seen("mine.yaml")}).code == 303
    until(lambda: state_of(server, "mine.yaml") not in ("starting", "running"))
    assert not (folder / "results/mine").exists()
    assert (folder / "results/mine.yaml/config.json").exists()


def test_only_what_was_shown_is_started(folder, server):
    """Between the plan and its confirmation somebody has changed the file."""
    file = folder / "config/changed.yaml"
    file.write_text(RUN_FILE)
    seen = server.seen("changed")
    file.write_text(RUN_FILE.replace("num_epochs: 1", "num_epochs: 50"))
    for form in ({"seen": seen}, {}):
        got = server.post("/runs/changed/start", form)
        assert (got.code, "configuration has changed since" in got.text) == (409, True)
    assert not (folder / "results/changed").exists()


def test_results_that_are_no_folder_are_told(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text(RUN_FILE)
    (tmp_path / "results").write_text("")
    dashboard = Dashboard(tmp_path)
    dashboard.sign_in()
    assert dashboard.get("/").code == 200
    got = dashboard.post("/runs/mine/stop")
    assert (got.code, "File exists" in got.text) == (500, True)
    dashboard.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--port", "65536"], "expected a number from 0 to 65535, found 65536"),
        (["--port", "-1"], "expected a number from 0 to 65535, found -1"),
        (["--auth-user", "a:b", "--auth-pass", "x"], "expected a name without a colon"),
        (["--auth-user", "a", "--auth-pass", "\udcff"], "expected UTF-8"),
    ],
)
def test_what_could_never_be_served_is_refused(tmp_path, arguments, says):
    command = [sys.executable, "-m", "skillopt", "dashboard", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, says in done.stderr) == (2, True)


@pytest.mark.parametrize("host", ["", "0"])
def test_however_all_addresses_are_written_they_are_all(tmp_path, host):
    login = ["--auth-user", "ann", "--auth-pass", "secret"]
    dashboard = Dashboard(tmp_path, "--host", host, *login)
    assert dashboard.get("/", Host=f"127.0.0.1:{dashboard.port}").code == 401
    assert dashboard.get("/", Host="").code == 403
    dashboard.close()
