"""What the commands do with a run, as its methods."""

import json
import pickle
from pathlib import Path

import plotly.graph_objects as plotly
import pytest

import nses
from commands import call
from nses.experiment.runs import run as stored

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "seed": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return nses.train("point-trap", run_dir=tmp_path_factory.mktemp("verbs") / "run", **SMALL)


def test_train_load_and_resume_give_a_run_with_all_its_verbs(run):
    assert type(run) is type(nses.load(run.path)) is type(nses.resume(run.path)) is nses.Run
    assert isinstance(run, stored.Run)
    assert nses.load(run.path) == run
    assert str(run.evaluate("best", 3)) == str(nses.evaluate(run, "best", 3))


def test_replay_answers_as_the_command_does(run, capsys):
    answer = run.replay(3, candidate=2)
    assert answer["same bits"] is True
    words = ["--generation", "3", "--candidate", "2", "--json"]
    out = call(capsys, "replay", str(run.path), *words)[1]
    assert json.loads(out) == answer


@pytest.mark.parametrize("what", ["learning", "map", "archive", "weight", "selection"])
def test_every_plot_is_a_figure_that_a_notebook_shows(run, what):
    figure = run.plot(what, by="hours")
    assert isinstance(figure, plotly.Figure)
    assert len(figure.data) > 0
    assert figure.to_json()


def test_a_plot_that_does_not_exist_is_said_to_be_missing(run, tmp_path):
    with pytest.raises(ValueError, match="there are plots of learning, map"):
        run.plot("novelty")
    with pytest.raises(ValueError, match="by generation, episodes"):
        run.plot(by="years")
    es = nses.train("point-trap", algorithm="es", run_dir=tmp_path, **(SMALL | {"generations": 0}))
    with pytest.raises(ValueError, match="nothing to show for 'learning'"):
        es.plot()


def test_the_page_is_written_where_it_is_asked_for(run, tmp_path):
    assert run.report() == run.path / "report.html"
    page = run.report(tmp_path / "page.html")
    assert "point-trap, NSRA-ES, seed 1" in page.read_text()


def test_a_policy_is_exported_from_python(run, tmp_path):
    pytest.importorskip("onnxruntime")
    exported = run.export("final", tmp_path)
    assert exported.model == tmp_path / "policy.onnx"
    assert exported.model.is_file()


def test_a_run_shows_its_facts_in_a_notebook_and_a_short_line_elsewhere(run):
    assert repr(run) == f"<run of point-trap with nsra-es, seed 1, in {run.path}>"
    page = run._repr_html_()
    assert "5 of 5, finished" in page
    assert str(run.path) in page
    assert run.diagnosis == []


def test_a_damaged_run_still_shows_itself(run, tmp_path):
    lost = nses.train("point-trap", run_dir=tmp_path / "<lost>", **(SMALL | {"generations": 1}))
    for file in lost.path.rglob("state.safetensors"):
        file.write_bytes(b"")
    page = lost._repr_html_()
    assert "&lt;lost&gt;" in page
    assert "no valid checkpoint" in page


def test_interruptions_are_keyboard_interrupts_that_say_how_to_go_on():
    stopped = nses.errors.Stopped(2)
    assert isinstance(stopped, KeyboardInterrupt)
    assert not isinstance(stopped, Exception)
    assert stopped.exit_code == 130


def test_a_run_can_be_sent_to_another_process(run):
    assert pickle.loads(pickle.dumps(run)).path == Path(run.path)
