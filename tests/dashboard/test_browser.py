"""The dashboard as a person uses it, in headless Chromium: configure, correct, plan, start, watch, stop."""

import json
import os
import shutil

import pytest
from dashboards import Dashboard
from loop import CANARY, Hold, Project, kind_of, leaks, model, serving, until
from madeup import MadeUp
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from skillopt.files import read_json
from skillopt.process import is_running

pytestmark = pytest.mark.slow
REQUIRED = "SKILLOPT_REQUIRE_BROWSER"
"""Set where a browser must be there, as in `.ci/run`: elsewhere the tests are skipped without one."""


class Browser:
    """Chromium with one window; what a page logs is an error."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = _program("chromium")
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1280,1000",
        ):
            options.add_argument(argument)
        self.driver = webdriver.Chrome(options=options, service=Service(_program("chromedriver")))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def fill(self, name, text):
        field = self.driver.find_element(By.NAME, name)
        if field.tag_name != "select":
            field.clear()
        field.send_keys(text)

    def problem_of(self, name):
        field = self.driver.find_element(By.NAME, name)
        assert field.get_attribute("aria-invalid") == "true"
        return self.driver.find_element(By.ID, field.get_attribute("aria-describedby")).text

    def until_shown(self, selector, text="", seconds=60.0):
        until(lambda: text in self._text_of(selector), seconds)

    def _text_of(self, selector):
        """In one step: the page replaces its elements meanwhile."""
        script = "const e = document.querySelector(arguments[0]); return e ? ' ' + e.textContent : null"
        found = self.driver.execute_script(script, selector)
        return found if found is not None else "\0"

    def errors(self):
        return [line["message"] for line in self.driver.get_log("browser") if " 422 " not in line["message"]]


def _program(name):
    found = shutil.which(name)
    if not found and REQUIRED not in os.environ:
        pytest.skip(f"{name} is missing: apt-get install chromium chromium-driver")
    assert found, f"{name} is missing, and {REQUIRED} is set"
    return found


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def endpoint():
    with serving() as server:
        yield server


@pytest.fixture
def project(endpoint, tmp_path):
    return Project(tmp_path / "project", endpoint.url, train__num_epochs=1)


def test_from_a_form_to_a_run_that_is_stopped_and_goes_on(browser, endpoint, project):
    endpoint.rule = hold = Hold(endpoint, lambda call, seen: kind_of(call) == "target" and seen > 5)
    dashboard = Dashboard(project.folder)
    browser.driver.get(dashboard.link)
    assert [link.text for link in browser.all("th a")] == ["loop"]
    browser.one("th a").click()
    browser.one("#act-like").click()
    correct_a_form(browser)
    write_and_start(browser, endpoint, project)
    see_it_run_without_a_reload(browser, hold)
    pid = refuse_other_starts(dashboard, project)
    dashboard.close()
    until(lambda: browser.one("#lost").is_displayed())
    assert "ERR_CONNECTION_REFUSED" in browser.errors()[0]

    # The run outlives the dashboard that started it.
    assert is_running(pid)
    dashboard = Dashboard(project.folder)
    browser.driver.get(dashboard.link)
    assert all("ERR_CONNECTION_REFUSED" in line for line in browser.errors())  # of the page that was left
    browser.driver.get(f"{dashboard.address}/runs/second")
    stop(browser, pid)
    paid = len(endpoint.answered)
    endpoint.rule = model
    go_on_to_the_report(browser)
    assert endpoint.repeated == 0
    assert len(endpoint.answered) > paid
    assert browser.errors() == []
    dashboard.close()
    assert leaks(project) == []


def correct_a_form(browser):
    browser.fill("name", "second")
    browser.fill("optimizer.learning_rate", "four")
    browser.fill("extra", "train.sed=7")
    browser.one("button.main[value=check]").click()
    browser.until_shown("#wrong-title", "Nothing was written")
    wrong = 'expected a whole number (1 or more), found "four"'
    assert wrong in browser.problem_of("optimizer.learning_rate")
    assert browser.driver.title.startswith("Wrong: New run")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "wrong"
    assert "did you mean train.seed?" in browser.problem_of("extra")
    assert not browser.all("#plan-title")
    browser.fill("optimizer.learning_rate", "3")
    browser.fill("extra", "train.seed=7")
    browser.one("button.main[value=check]").click()


def write_and_start(browser, endpoint, project):
    browser.until_shown("#plan-title", "Plan")
    planned = browser.one("[aria-labelledby=plan-title]").text
    assert "second in all: 1 epoch, 1 step" in planned
    assert "TARGET_OPENAI_COMPATIBLE_API_KEY is set" in planned
    assert CANARY not in browser.driver.page_source
    file = project.folder / "config/second.yaml"
    assert not file.exists()
    browser.one("button[value=write]").click()
    browser.until_shown("#act-start", "Start")
    assert "learning_rate: 3" in file.read_text()
    assert not (project.folder / "results").exists()
    browser.one("#act-start").click()
    browser.until_shown("#confirm", "Start")
    assert "This starts skillopt train second" in browser.one("main").text
    assert endpoint.calls == []
    browser.one("#confirm").click()


def see_it_run_without_a_reload(browser, hold):
    focus = "window.sameLoad = true; document.getElementById('act-stop').focus()"
    browser.driver.execute_script(focus)
    hold.wait()
    browser.until_shown("#live .badge", "running")
    browser.until_shown("#live", "step_0001/rollout")
    state = "return [window.sameLoad, document.activeElement.id]"
    assert browser.driver.execute_script(state) == [True, "act-stop"]
    assert browser.errors() == []


def refuse_other_starts(dashboard, project):
    """One run of a folder at a time, whichever dashboard asks. Returns the run's process."""
    dashboard.sign_in()
    again = dashboard.post("/runs/second/start", {"seen": dashboard.seen("second")})
    assert (again.code, "second is at work" in again.text) == (409, True)
    other = Dashboard(project.folder)
    other.sign_in()
    assert other.post("/runs/loop/start", {"seen": other.seen("loop")}).code == 409
    other.close()
    pid = read_json(project.folder / "results/second/logs/dashboard.json", dict)["pid"]
    assert os.getpgid(pid) == pid
    assert not (project.folder / "results/loop").exists()
    return pid


def stop(browser, pid):
    browser.one("#act-stop").click()
    assert "same signal as from Ctrl-C" in browser.one("main").text
    assert is_running(pid)
    browser.one("#confirm").click()
    browser.until_shown("#act-start", "Continue")
    assert not is_running(pid)
    browser.until_shown("#printed", "interrupted: run the same command again to go on")


def go_on_to_the_report(browser):
    browser.one("#act-start").click()
    browser.one("#confirm").click()
    browser.until_shown("#live .badge", "finished", 240)  # a whole run
    browser.until_shown("#live", "best skill, test")
    assert len(browser.all("#live svg.chart")) == 2
    browser.one("#act-report").click()
    assert browser.one("h1").text == "second"


def test_pages_fit_into_the_window(browser, project):
    """Tables and charts scroll by themselves; the page does not."""
    MadeUp(project.folder / "results/made").whole().called(3)
    MadeUp(project.folder / "results" / ("long" * 20)).whole()
    failed = project.folder / "results/made/logs/a.failure.json"
    failed.parent.mkdir(exist_ok=True)
    failed.write_text(json.dumps({"command": "rollout", "exit_code": 1, "message": "m" * 400}))
    dashboard = Dashboard(project.folder)
    browser.driver.get(dashboard.link)
    for width in (400, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for page in ("", "runs/made", f"runs/{'long' * 20}", "runs/loop/start", "new?like=loop", "nothing"):
            browser.driver.get(f"{dashboard.address}/{page}")
            wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, page
    dashboard.close()
