"""The dashboard as a person uses it, in headless Chromium: configure, correct, plan, start, watch, stop."""

import json
import os
import shutil

import psutil
import pytest
from dashboards import Dashboard
from loop import CANARY, Hold, Project, kind_of, leaks, model, serving, until
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from skillopt.files import read_json
from skillopt.process import is_running

pytestmark = pytest.mark.slow


class Browser:
    """Chromium with one window; what a page logs is an error."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = _program("chromium")
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
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

    def until_shown(self, selector, text=""):
        until(lambda: text in self._text_of(selector))

    def _text_of(self, selector):
        """In one step: the page replaces its elements meanwhile."""
        script = "const e = document.querySelector(arguments[0]); return e ? ' ' + e.textContent : null"
        found = self.driver.execute_script(script, selector)
        return found if found is not None else "\0"

    def errors(self):
        return [line["message"] for line in self.driver.get_log("browser") if " 422 " not in line["message"]]


def _program(name):
    found = shutil.which(name)
    assert found, f"{name} is missing: apt-get install chromium chromium-driver"
    return found


@pytest.fixture
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
    return Project(tmp_path / "project", endpoint.url)


def test_from_a_form_to_a_run_that_is_stopped_and_goes_on(browser, endpoint, project):
    endpoint.rule = hold = Hold(endpoint, lambda call, seen: kind_of(call) == "target" and seen > 5)
    dashboard = Dashboard(project.folder)
    browser.driver.get(dashboard.link)
    assert [link.text for link in browser.all("th a")] == ["loop"]

    # A form with mistakes, and its correction.
    browser.one("th a").click()
    browser.one("#act-like").click()
    browser.fill("name", "second")
    browser.fill("optimizer.learning_rate", "four")
    browser.fill("extra", "train.sed=7")
    browser.one("button.main[value=check]").click()
    assert 'expected a whole number (1 or more), found "four"' in browser.problem_of(
        "optimizer.learning_rate"
    )
    assert "did you mean train.seed?" in browser.problem_of("extra")
    assert not browser.all("#plan-title")
    browser.fill("optimizer.learning_rate", "3")
    browser.fill("extra", "train.seed=7" + Keys.TAB)
    browser.one("button.main[value=check]").click()

    # The plan with its price, the file, the confirmation.
    planned = browser.one("[aria-labelledby=plan-title]").text
    assert "second in all: 2 epochs, 2 steps" in planned
    assert "TARGET_OPENAI_COMPATIBLE_API_KEY is set" in planned
    assert CANARY not in browser.driver.page_source
    file = project.folder / "config/second.yaml"
    assert not file.exists()
    browser.one("button[value=write]").click()
    assert "learning_rate: 3" in file.read_text()
    assert not (project.folder / "results").exists()
    browser.one("#act-start").click()
    assert "This starts skillopt train second" in browser.one("main").text
    assert endpoint.calls == []
    browser.one("#confirm").click()

    # The live view follows without a reload, and leaves the focus where it is.
    browser.driver.execute_script("window.sameLoad = true; document.getElementById('act-stop').focus()")
    hold.wait()
    browser.until_shown("#live .badge", "running")
    browser.until_shown("#live", "step_0001/rollout")
    assert browser.driver.execute_script("return [window.sameLoad, document.activeElement.id]") == [
        True,
        "act-stop",
    ]

    # One start at a time, whoever asks.
    dashboard.sign_in()
    again = dashboard.post("/runs/second/start")
    assert (again.code, "second is at work" in again.text) == (409, True)
    other = Dashboard(project.folder)
    other.sign_in()
    assert other.post("/runs/loop/start").code == 409
    other.close()
    pid = json.loads((project.folder / "results/second/logs/dashboard.json").read_text())["pid"]
    assert os.getpgid(pid) == pid

    # The run outlives the dashboard; another one stops it, after a confirmation.
    dashboard.close()
    assert is_running(pid)
    dashboard = Dashboard(project.folder, SKILLOPT_WEBUI_USER="", SKILLOPT_WEBUI_PASS="")
    browser.driver.get(dashboard.link)
    browser.driver.get(f"{dashboard.address}/runs/second")
    browser.one("#act-stop").click()
    assert "same signal as from Ctrl-C" in browser.one("main").text
    assert is_running(pid)
    browser.one("#confirm").click()
    browser.until_shown("#act-start", "Continue")
    assert not is_running(pid)
    log = (project.folder / "results/second/logs/dashboard.log").read_text()
    assert "interrupted: run the same command again to go on" in log
    paid = len(endpoint.answered)

    # It goes on from there, to its end and its report.
    endpoint.rule = model
    browser.one("#act-start").click()
    browser.one("#confirm").click()
    browser.until_shown("#live .badge", "finished")
    assert endpoint.repeated == 0
    assert len(endpoint.answered) > paid
    browser.until_shown("#live", "best skill, test")
    assert len(browser.all("#live svg.chart")) == 2
    browser.one("#act-report").click()
    assert browser.one("h1").text == "second"
    assert browser.errors() == []
    dashboard.close()
    assert leaks(project) == []


def test_the_environment_of_a_run_lacks_the_password(browser, endpoint, project):
    endpoint.rule = hold = Hold(endpoint, lambda call, seen: True)
    dashboard = Dashboard(project.folder, SKILLOPT_WEBUI_USER="ann", SKILLOPT_WEBUI_PASS="canary-password")
    address = f"http://ann:canary-password@127.0.0.1:{dashboard.port}"
    browser.driver.get(f"{address}/runs/loop/start")
    browser.one("#confirm").click()
    hold.wait()
    pid = read_json(project.results / "logs/dashboard.json", dict)["pid"]
    environment = psutil.Process(pid).environ()
    assert "SKILLOPT_WEBUI_PASS" not in environment
    assert environment["OPENAI_COMPATIBLE_API_KEY"].startswith(CANARY)
    browser.driver.get(f"{address}/runs/loop/stop")
    browser.one("#confirm").click()
    until(lambda: not is_running(pid))
    dashboard.close()
    assert leaks(project, "canary-password", CANARY) == []


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("page", ["", "runs/loop", "runs/loop/start", "new?like=loop", "nothing"])
def test_pages_fit_into_the_window(browser, project, page, width):
    """Tables and charts scroll by themselves; the page does not."""
    dashboard = Dashboard(project.folder)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.driver.get(dashboard.link)
    browser.driver.get(f"{dashboard.address}/{page}")
    assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= width
    dashboard.close()
