"""The point robot: how it moves, and what stops it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nses.core.seeding import Purpose, generator
from nses.rollouts.native.point import RADIUS, advance
from nses.rollouts.tasks.point import HALF_WIDTH, OUTSIDE, walls_of

STILL = np.zeros(2)


NORTH = np.pi / 2


seeds = st.integers(0, 2**31 - 1)


def moving(x, y, heading, speed):
    """The state of a robot that does not turn."""
    return np.array([x, y, heading, speed, 0.0, np.cos(heading), np.sin(heading)])


@pytest.mark.parametrize(
    ("x", "y", "heading", "axis", "face"),
    [
        (4.8, 0.0, 0.0, 0, 5.5 - RADIUS),
        (4.0, 1.0, NORTH, 1, HALF_WIDTH - RADIUS),
        (4.0, -1.0, -NORTH, 1, -HALF_WIDTH + RADIUS),
        (6.5, 0.0, np.pi, 0, 5.5 + RADIUS),
        (4.0, 2.5, -NORTH, 1, HALF_WIDTH + RADIUS),
        (4.0, -2.5, NORTH, 1, -HALF_WIDTH - RADIUS),
    ],
    ids=["back", "left", "right", "back from outside", "left from outside", "right from outside"],
)
def test_a_wall_stops_the_robot_dead(x, y, heading, axis, face):
    walls, state = walls_of(HALF_WIDTH), moving(x, y, heading, 1.0)
    stops = 0
    for _ in range(100):
        before = state.copy()
        advance(state, 1.0, 0.0, STILL, walls)
        if state[3] == 0.0:
            assert state[:2].tolist() == before[:2].tolist()
            stops += 1
    assert stops > 1
    assert state[axis] == pytest.approx(face, abs=0.1)
    assert abs(state[1 - axis] - (x, y)[1 - axis]) < 1e-9


def test_the_opening_is_open_and_the_way_around_is_free():
    walls = walls_of(HALF_WIDTH)
    inside, around = moving(0.0, 0.0, 0.0, 0.0), moving(0.0, 2.5, 0.0, 0.0)
    for _ in range(200):
        advance(inside, 1.0, 0.0, STILL, walls)
        advance(around, 1.0, 0.0, STILL, walls)
    assert 5.1 < inside[0] <= 5.3
    assert around[0] > 3 * OUTSIDE


def within(walls, x, y):
    return bool(
        ((walls[:, 0] < x) & (x < walls[:, 1]) & (walls[:, 2] < y) & (y < walls[:, 3])).any()
    )


@given(
    x=st.floats(1.0, 7.0),
    y=st.floats(-3.0, 3.0),
    heading=st.floats(-4.0, 4.0),
    speed=st.floats(-1.5, 1.5),
    half_width=st.floats(0.5, 2.0),
    seed=seeds,
    actions=st.lists(st.tuples(st.floats(-9.0, 9.0), st.floats(-9.0, 9.0)), min_size=1, max_size=8),
)
@settings(deadline=None, max_examples=200)
def test_the_robot_is_never_in_a_wall_nor_behind_one_that_it_did_not_go_around(
    x, y, heading, speed, half_width, seed, actions
):
    walls = walls_of(half_width)
    assume(not within(walls, x, y))
    state = moving(x, y, heading, speed)
    for motor in generator(seed, 0, 0, Purpose.EPISODE).standard_normal((len(actions) * 20, 2)):
        throttle, turn = actions[0]
        actions = [*actions[1:], actions[0]]
        (x0, y0), _ = state[:2].tolist(), advance(state, throttle, turn, motor, walls)
        x1, y1 = state[:2].tolist()
        assert not within(walls, x1, y1)
        if (x0 - 5.5) * (x1 - 5.5) < 0:
            assert max(abs(y0), abs(y1)) > half_width
        for side in (half_width, -half_width):
            if (y0 - side) * (y1 - side) < 0:
                assert not (2.5 < x0 < 5.5 and 2.5 < x1 < 5.5)
