"""Names and texts of others, as they are shown: letters, nothing that a terminal obeys."""

import io
import json
import logging
import re
from dataclasses import replace

import pytest
from rich.table import Table
from rich.text import Text

import nses
from nses.cli import main
from nses.execution.output import visible
from nses.experiment.settings.config import Config
from nses.experiment.showing.progress import ProgressView
from nses.experiment.showing.terminal import Terminal
from nses.words import say

ESC = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202edesrever\x7f\r"
MARKUP = "[red]x[/] [/] [link=https://nowhere]y[/link] :smile: [bold"


@pytest.fixture
def console():
    return Terminal(file=io.StringIO(), width=200, force_terminal=True, color_system="truecolor")


def shown(console):
    return console.file.getvalue()


def test_l1_control_characters_are_shown_and_not_obeyed():
    text = visible(f"a\n\t{ESC}ä±你")
    assert text == "a\n\t␛]0;owned␇␛[31mred�2J�desrever␡␍ä±你"


def test_l1_no_escape_of_a_text_reaches_the_terminal(console):
    table = Table(title=ESC)
    table.add_column(ESC)
    table.add_row(Text(ESC))
    console.print(ESC, Text(ESC, "bold"), table)
    say(console, ESC, ESC)
    for harmful in ("\x1b]", "\x1b[31mred", "\x9b", "\u202e", "\x07", "\x7f"):
        assert harmful not in shown(console)
    assert "\x1b[1m" in shown(console)  # our own styles do


def test_l1_log_messages_are_shown_as_letters(console):
    from rich.logging import RichHandler

    handler = RichHandler(console=console, show_time=False, show_path=False, markup=False)
    record = logging.LogRecord("nses", logging.WARNING, "", 0, "%s", (ESC + MARKUP,), None)
    handler.handle(record)
    assert "\x1b]" not in shown(console)
    assert "[red]x[/]" in re.sub(r"\x1b\[[\d;]*m", "", shown(console))


def test_l1_l6_info_of_a_hostile_run_shows_its_names_as_they_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nses.train("point-trap", recipe="smoke", generations=1, backend="serial", run_dir="run")
    file = tmp_path / "run" / "config.json"
    document = json.loads(file.read_text())
    document["config"]["behavior"] = ESC + MARKUP
    document["versions"][ESC] = MARKUP
    file.write_text(json.dumps(document))
    main(["info", "run"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert MARKUP in out
    document["config"]["activation"] = ESC + MARKUP
    file.write_text(json.dumps(document))
    assert main(["info", "run"]) == 3
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "[link=https://nowhere]" in err


def test_l6_markup_in_names_is_shown_literally(console):
    table = Table(title=MARKUP)
    table.add_column(MARKUP)
    table.add_row(MARKUP)
    console.print(table)
    console.print(MARKUP, highlight=False)
    assert shown(console).count(":smile:") == 4
    assert "nowhere\x1b\\" not in shown(console)


def test_l6_markup_in_the_name_of_a_task_is_shown_by_the_progress_bar(console):
    view = ProgressView(replace(Config(task="x"), task=MARKUP), console)
    with view:
        pass
    assert "[link=https://nowhere]y[/link] :smile:" in shown(console)
