"""Guesses of a password are few, and keep nobody else out."""

import base64

from dashboards import Dashboard

from skillopt.dashboard.guesses import AT_ONCE, EVERY, Guesses


def test_a_client_that_has_used_up_its_tries_gets_one_after_a_while():
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    assert [guesses.allowed("10.0.0.1") for _ in range(AT_ONCE + 2)] == [True] * AT_ONCE + [False] * 2
    assert guesses.allowed("10.0.0.2")
    now[0] += EVERY
    assert [guesses.allowed("10.0.0.1") for _ in range(2)] == [True, False]
    now[0] += 1000 * EVERY
    assert [guesses.allowed("10.0.0.1") for _ in range(AT_ONCE + 1)] == [True] * AT_ONCE + [False]
    guesses.was_right("10.0.0.1")
    assert guesses.allowed("10.0.0.1")


def test_one_network_of_ipv6_is_one_client():
    guesses = Guesses(lambda: 0.0)
    assert all(guesses.allowed(f"2001:db8::{number}") for number in range(AT_ONCE))
    assert not guesses.allowed("2001:db8::ffff")
    assert guesses.allowed("2001:db8:0:1::1")


def test_guesses_end_and_who_is_logged_in_goes_on(tmp_path):
    login = {"SKILLOPT_WEBUI_USER": "ann", "SKILLOPT_WEBUI_PASS": "right"}
    dashboard = Dashboard(tmp_path, **login)
    assert dashboard.get("/", Authorization=basic("right")).code == 200
    cookie, dashboard.cookie = dashboard.cookie, ""
    codes = [dashboard.get("/", Authorization=basic(f"{n}"), Cookie=None).code for n in range(AT_ONCE + 10)]
    assert codes[:AT_ONCE] == [401] * AT_ONCE
    assert 429 in codes[AT_ONCE:]
    assert dashboard.get("/", Authorization=basic("right"), Cookie=cookie).code == 200
    assert dashboard.get("/", Cookie=cookie).code == 401  # the cookie alone is no login
    dashboard.close()


def basic(password):
    return "Basic " + base64.b64encode(f"ann:{password}".encode()).decode()
