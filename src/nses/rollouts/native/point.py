"""The point robot: one step, and a whole episode with its policy, compiled."""

import numpy as np

from nses.core.compiled import compiled
from nses.rollouts.native.network import forward, normalize, take_in

DT = 0.1
RADIUS = 0.2
MOTOR_NOISE = 0.1
OBSERVATIONS, ACTIONS = 6, 2


def walls_of(half_width: float) -> np.ndarray:
    """Where the robot's centre cannot be: back, left and right wall as x0, x1, y0, y1, (3, 4).

    They stand on the centre lines of the paper's boxes; the side walls are `half_width` from the
    middle (1.5 in the paper).
    """
    lines = np.array(
        [
            [5.5, 5.5, -half_width, half_width],
            [2.5, 5.5, half_width, half_width],
            [2.5, 5.5, -half_width, -half_width],
        ]
    )
    return lines + RADIUS * np.array([-1.0, 1.0, -1.0, 1.0])


@compiled
def observe(state, out):
    """0.05 x, 0.05 y, cos h, sin h, speed, turn rate."""
    out[0] = 0.05 * state[0]
    out[1] = 0.05 * state[1]
    out[2] = np.cos(state[2])
    out[3] = np.sin(state[2])
    out[4] = state[3]
    out[5] = state[4]


@compiled
def advance(state, throttle, turn, motor, walls):
    """One step of x, y, heading, speed, turn rate; a wall stops the robot where it is."""
    throttle = min(max(throttle, -1.0), 1.0) + MOTOR_NOISE * motor[0]
    turn = min(max(turn, -1.0), 1.0) + MOTOR_NOISE * motor[1]
    x, y, heading, speed, rate = state[0], state[1], state[2], state[3], state[4]
    rate += DT * 2.0 * (2.0 * turn - rate)
    heading += DT * rate
    speed += DT * (throttle - speed)
    new_x = x + DT * speed * np.cos(heading)
    new_y = y + DT * speed * np.sin(heading)
    for w in range(walls.shape[0]):
        x0, x1, y0, y1 = walls[w]
        if x0 < new_x < x1 and y0 < new_y < y1:
            new_x, new_y, speed = x, y, 0.0
    state[0], state[1], state[2], state[3], state[4] = new_x, new_y, heading, speed, rate


@compiled
def episode(
    theta, sizes, activation, mean, std, state, motor, action_noise, walls, sums, contributes, work
):
    """Plays len(motor) steps from `state`, which ends as the final one: return and length.

    `sums` gathers the sum and the sum of squares of the observations where `contributes`. An
    observation that is not finite ends the episode with the return NaN.
    """
    observation = np.empty(OBSERVATIONS)
    total, x = 0.0, 0.0
    for step in range(len(motor)):
        observe(state, observation)
        if not take_in(observation, sums, contributes):
            return np.nan, step
        normalize(observation, mean, std, work[0])
        action = forward(theta, sizes, activation, work)
        if len(action_noise):
            action[0] += action_noise[step, 0]
            action[1] += action_noise[step, 1]
        advance(state, action[0], action[1], motor[step], walls)
        total += state[0] - x
        x = state[0]
    return total, len(motor)
