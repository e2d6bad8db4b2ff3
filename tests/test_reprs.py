"""What a session prints of our values fits on a line or two."""

import numpy as np

import nses
from nses.core.archive import archive_of
from nses.core.moments import initial


def test_values_show_themselves_in_a_short_line(tmp_path):
    run = nses.train(
        "point-trap",
        recipe="smoke",
        backend="serial",
        tensorboard=False,
        generations=2,
        run_dir=tmp_path / "run",
    )
    state = run.state
    best = f"<score {state.best.score:g}, generation {state.best.generation}, member "
    assert repr(state.best).startswith(best)
    assert repr(state).startswith("<state after 2 generations: 2 members, 4 behaviors, best <score")
    updates = sum(member.optimizer.t for member in state.members)
    assert updates == 2
    t = state.members[0].optimizer.t
    assert repr(state.members[0]) == f"<member of 418 parameters after {t} updates>"
    assert repr(state.archive) == "<archive of 4 behaviors>"
    assert repr(archive_of([np.zeros((2, 3), np.uint8)])) == "<archive of 1 traces>"
    assert repr(initial(3)) == "<moments of 0.01 observations, 3 numbers each>"
    assert repr(nses.make_task("point-trap")) == "<task point-trap: behavior final:x,y, 300 steps>"
    assert repr(run.evaluate(episodes=2)).startswith("<mean return ")
