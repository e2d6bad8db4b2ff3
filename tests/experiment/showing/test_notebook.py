"""Progress where a cell shows its output; the notebook in examples/ runs in a real kernel."""

import sys
from types import SimpleNamespace

import pytest

import nses
from nses.experiment.showing.notebook import in_notebook

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


@pytest.fixture
def shown(monkeypatch):
    """What a kernel was asked to show."""
    pages = []

    def display(view, display_id):
        assert display_id
        pages.append(view._repr_html_())
        return SimpleNamespace(update=lambda view: pages.append(view._repr_html_()))

    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return pages


def test_without_a_kernel_this_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    terminal = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert not in_notebook()


def test_a_notebook_shows_a_bar_that_ends_full(shown, tmp_path, capsys):
    heard = []
    nses.train(
        "point-trap",
        progress=True,
        listener=lambda state, record: heard.append(record),
        run_dir=tmp_path / "run",
        **SMALL,
    )
    assert len(heard) == 5
    assert capsys.readouterr().out == ""
    assert 'value="0" max="5"' in shown[0]
    assert 'value="5" max="5"' in shown[-1]
    assert "best " in shown[-1]


def test_a_script_prints_its_progress_and_its_listener_still_stops_it(tmp_path, capsys):
    def listener(state, record):
        if record["generation"] == 2:
            raise nses.StopTraining

    run = nses.train(
        "point-trap", progress=True, listener=listener, run_dir=tmp_path / "run", **SMALL
    )
    assert run.state.generation == 2
    out = capsys.readouterr().out
    assert "generation 1/5" in out
    assert "generation 2/5" in out
    nses.resume(run.path, progress=True)
    assert "generation 5/5" in capsys.readouterr().out
