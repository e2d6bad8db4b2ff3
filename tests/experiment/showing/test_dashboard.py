import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from nses.cli import main
from nses.experiment.analysis.live import Watcher
from nses.experiment.showing import dashboard
from nses.experiment.showing.watched import figures_of, without_content
from pretended import pretend, record
from waiting import SOON

NSES = [sys.executable, "-m", "nses"]


@contextmanager
def started(*arguments, **options):
    """A command of ours that runs beside the test; it ends with it."""
    process = subprocess.Popen([*NSES, *arguments], text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def watching(*directories):
    """`nses watch` of these, and where its page is."""
    flags = ["--port", "0", "--interval", "0.3"]
    with started("watch", *map(str, directories), *flags, stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        yield process, re.search(r"http://127\.0\.0\.1:\d+", line)[0]


def append(run, *records):
    with open(run.path / "metrics.jsonl", "a") as file:
        file.writelines(json.dumps(r) + "\n" for r in records)


def client_of(*directories):
    return dashboard.dashboard(Watcher(directories), 2.0).server.test_client()


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:8050", 200),
        ("localhost", 200),
        ("localhost:1", 200),
        ("[::1]:8050", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:8050", 403),
        ("localhost:80@evil.example", 403),
        ("", 403),
    ],
)
def test_only_requests_to_a_local_host_name_are_answered(tmp_path, host, code):
    answer = client_of(tmp_path).get("/", headers={"Host": host})
    assert answer.status_code == code
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_plots_that_a_run_does_not_have_are_hidden(tmp_path):
    pretend(tmp_path / "a", generation=3)
    pretend(tmp_path / "b", generation=3, algorithm="es", task="point")
    pretend(tmp_path / "c", generation=0, total=3, task="point")
    view = Watcher([tmp_path]).look()
    figures = {live.name: figures_of(view, live, "generation", {})[0] for live in view.runs}
    hidden = {
        (live.story.run.config.task, live.story.generation): without_content(
            figures[live.name], live
        )
        for live in view.runs
    }
    assert hidden == {
        ("point-trap", 3): [False, False, False],
        ("point", 3): [True, True, True],
        ("point", 0): [False, False, False],  # nobody knows yet
    }


def test_a_port_in_use_is_a_clear_error(tmp_path, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["watch", str(tmp_path), "--port", str(port)]) == 2
    assert f"port {port} cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere is not a directory"),
        ([], "needs a directory"),
        ([".", "--port", "70000"], "port must be 0 to 65535"),
        ([".", "--interval", "0"], "interval must be"),
    ],
)
def test_what_cannot_be_watched_is_a_clear_error(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_dash_the_error_says_how_to_install_it(tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "nses.experiment.showing.dashboard")
    monkeypatch.setitem(sys.modules, "dash", None)
    assert main(["watch", str(tmp_path)]) == 2
    assert "pip install 'nses[dashboard]'" in capsys.readouterr().err


@pytest.mark.slow
def test_control_c_ends_it_without_a_complaint(tmp_path):
    with watching(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 0


@pytest.mark.slow
def test_the_page_follows_a_run_from_before_its_first_generation(tmp_path, visit):
    flags = ["--recipe", "smoke", "--generations", "100000", "--backend", "serial", "--n", "600"]
    with watching(tmp_path) as (_, url):
        seen = visit(url)
        seen.page.wait_for_selector("text=No runs here yet")
        run = tmp_path / "run"
        quiet = {"stdout": subprocess.DEVNULL, "cwd": tmp_path}
        with started("train", "point-trap", *flags, "--run-dir", str(run), **quiet):
            seen.page.wait_for_selector(".state.training")
            shown = "Number(document.querySelector('.runs td:nth-child(4)')?.innerText" \
                    ".split(' ')[0].replace(',', '') ?? 0)"  # fmt: skip
            seen.until(f"{shown} > 0")
            first = seen.page.evaluate(shown)
            seen.until(f"{shown} > {first}")
            assert seen.drawn("compared") >= 1
            assert seen.drawn("curves") >= 3
            seen.drawn("map")
            diamonds = seen.diamonds("map")
            end = time.monotonic() + 2 * SOON
            while seen.diamonds("map") <= diamonds and diamonds < 2000:
                assert time.monotonic() < end
                seen.page.wait_for_timeout(100)
        seen.page.wait_for_selector(".state.stopped")
        seen.page.close()  # before it complains that nobody answers any more


@pytest.mark.slow
def test_run_axis_slider_and_diamonds_can_be_chosen(tmp_path, visit):
    pretend(tmp_path / "a", generation=30, algorithm="es")
    run = pretend(tmp_path / "b", generation=40, total=50)
    with watching(tmp_path) as (_, url):
        seen = visit(url)
        page = seen.page
        seen.drawn("map")
        page.locator("#axis >> text=environment steps").click()
        seen.until("document.querySelector('#curves .xtitle')?.textContent == 'environment steps'")
        page.click("#run")
        page.locator("[role=option], .dash-dropdown-option").filter(has_text="nsra-es").click()
        seen.until("document.querySelector('#until-shown').textContent == '40'")
        page.locator(".runs tbody tr", has_text="30 of 30").locator("td").nth(2).click()
        seen.until("document.querySelector('#until-shown').textContent == '30'")
        seen.until("document.querySelector('.runs tr.chosen').textContent.includes('30 of 30')")
        page.locator(".runs tbody tr", has_text="40 of 50").locator("button").press("Enter")
        seen.until("document.querySelector('#until-shown').textContent == '40'")
        seen.drawn("map")
        assert seen.diamonds("map") == 40
        page.locator("#map .nsewdrag").scroll_into_view_if_needed()
        seen.click("map", 0, 3)
        page.wait_for_selector("#picked code")
        command = page.locator("#picked code").text_content()
        assert re.fullmatch(rf"nses replay {re.escape(str(run.path))} --generation \d+", command)
        page.locator("[role=slider]").press("Home")
        seen.until("document.querySelector('#until-shown').textContent == '1'")
        end = time.monotonic() + SOON
        while seen.diamonds("map") != 1:
            assert time.monotonic() < end
            page.wait_for_timeout(100)
        append(run, record(41))
        page.wait_for_selector("text=41 of 50")
        assert page.locator("#until-shown").text_content() == "1"  # who looks back is left there
        page.close()


@pytest.mark.slow
def test_the_page_is_no_wider_than_a_phone_and_names_what_it_cannot_read(tmp_path, visit):
    pretend(tmp_path / "a", generation=30, task="<img src=x onerror=hacked=1>", behavior=3)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/config.json").write_text("{")
    with watching(tmp_path) as (_, url):
        seen = visit(url, width=380, height=800)
        seen.drawn("compared")
        seen.drawn("selection")
        titles = seen.page.locator(".modebar-btn").evaluate_all("b => b.map(x => x.dataset.title)")
        assert titles
        assert not [title for title in titles if re.search("share|cloud|edit", title, re.I)]
        assert "torn" in seen.page.inner_text(".notes")
        seen.drawn("map")
        seen.until("!document.querySelector('#axes-choice').hidden")
        seen.page.click("#up")
        third = seen.page.locator("[role=option], .dash-dropdown-option")
        third.filter(has_text="final observation 2").click()
        seen.until("document.querySelector('#map .ytitle')?.textContent == 'final observation 2'")
        assert seen.page.evaluate("typeof hacked") == "undefined"
        assert seen.overflow <= 0
        seen.page.close()
