"""Runs that their settings stop: they end like any other, know why, and go on to the same bits."""

import pytest

import nses
from commands import SMOKE, call
from nses.experiment.analysis.stories import story_of
from nses.experiment.showing.info import facts_of
from nses.experiment.showing.report import write_run_report
from nses.experiment.showing.tables import state_of

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "seed": 1}


def train(directory, **settings):
    return nses.train("point-trap", run_dir=directory, **(SMALL | {"generations": 8} | settings))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ({"stop_at": -1000.0}, "has reached --stop-at -1000"),
        ({"stop_after": 1}, "has not risen for 1 generation"),
        ({"time_limit": 0.001}, "--time-limit 0.001s"),
    ],
)
def test_a_stopped_run_has_ended_knows_why_and_goes_on_to_the_same_bits(
    tmp_path, whole, condition, why
):
    run = train(tmp_path / "run", **condition)
    stopped_at = run.state.generation
    assert 1 <= stopped_at < 8
    assert run.finished
    assert len(run.retest) == 5
    assert why in run.stopped
    assert why in facts_of(run)["stopped"]
    assert why in state_of(story_of(run)).text
    assert story_of(run).done
    (setting,) = condition
    flag = f"--{setting.replace('_', '-')} none"
    assert flag in write_run_report(run).read_text()

    heard = []
    again = nses.resume(run.path, listener=lambda state, record: heard.append(record))
    assert not heard
    assert again.state.generation == stopped_at
    further = nses.resume(run.path, **{setting: "none"})
    assert further.finished
    assert not further.stopped
    assert (further.digest, further.retest) == (whole.digest, whole.retest)


def test_an_interrupted_run_stops_where_it_would_have_stopped_anyway(tmp_path):
    def interrupt(state, record):
        raise nses.StopTraining

    straight = train(tmp_path / "straight", stop_after=2, generations=40)
    assert straight.state.generation - straight.best.generation == 2
    run = train(tmp_path / "run", stop_after=2, generations=40, listener=interrupt)
    assert not run.finished
    assert not story_of(run).done
    assert nses.resume(run.path).digest == straight.digest


@pytest.mark.parametrize("reason", ["it is good enough", ""])
def test_a_run_that_a_listener_stopped_says_why_until_it_goes_on(tmp_path, reason):
    def stop(state, record):
        if state.generation == 2:
            raise nses.StopTraining(reason) if reason else nses.StopTraining

    run = train(tmp_path / "run", generations=3, listener=stop)
    said = f"a listener stopped it{': ' * bool(reason)}{reason}"
    assert run.stopped == facts_of(run)["stopped"] == said
    assert state_of(story_of(run)).text == f"stopped at generation 2 of 3: {said}"
    assert said in write_run_report(run).read_text()
    further = nses.resume(run.path)
    assert further.finished
    assert not further.stopped
    assert state_of(story_of(further)).text == "finished"


def test_a_stopped_run_without_its_ending_gets_it_without_training_further(tmp_path):
    run = train(tmp_path / "run", stop_at=-1000.0)
    digest, retest = run.digest, run.retest
    (run.path / "best.safetensors").unlink()
    assert not run.finished
    run = nses.resume(run.path)
    assert (run.digest, run.retest, run.finished) == (digest, retest, True)


def test_the_command_line_says_why_a_run_stopped_and_how_to_go_on(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(
        capsys, "train", "point-trap", *SMOKE, "--stop-at", "-1000", "--run-dir", "run"
    )
    assert code == 0
    assert "the best score" in out
    assert "nses resume run --stop-at none" in out
    code, out, _ = call(capsys, "resume", "run", "--generations", "6")
    assert code == 0
    assert "nothing to train: the run has stopped: the best score" in out
    assert call(capsys, "resume", "run", "--stop-at", "none", "--time-limit", "1h")[0] == 0
    run = nses.load("run")
    assert (run.state.generation, run.config.stop_at, run.config.time_limit) == (6, None, "1h")
    code, _, err = call(capsys, "resume", "run", "--time-limit", "soon")
    assert code == 2
    assert "30m" in err
