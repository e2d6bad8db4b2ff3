"""What a session prints of our values fits on a line or two."""

import nses


def test_values_show_themselves_in_a_short_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = nses.train(
        "point-trap",
        recipe="smoke",
        backend="serial",
        tensorboard=False,
        generations=2,
        run_dir="run",
    )
    assert all(len(repr(value)) < 100 for value in (run, run.best, run.archive, run.policy()))
    assert len(repr(run.state)) < 150
    assert repr(nses.make_task("point-trap")) == "<task point-trap: behavior final:x,y, 300 steps>"
    assert repr(run.evaluate(episodes=2)).startswith("<mean return ")
