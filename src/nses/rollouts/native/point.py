"""The point robot: one step, and a whole episode with its policy, compiled."""

import numpy as np

from nses.core.compiled import compiled
from nses.rollouts.native.network import forward, normalize, take_in

DT = 0.1
RADIUS = 0.2
MOTOR_NOISE = 0.1
OBSERVATIONS, ACTIONS = 6, 2
X, Y, HEADING, SPEED, RATE, COS, SIN = range(7)  # the state; cos and sin are those of the heading


@compiled
def observe(state, out):
    """0.05 x, 0.05 y, cos h, sin h, speed, turn rate."""
    out[0] = 0.05 * state[X]
    out[1] = 0.05 * state[Y]
    out[2] = state[COS]
    out[3] = state[SIN]
    out[4] = state[SPEED]
    out[5] = state[RATE]


@compiled
def advance(state, throttle, turn, motor, walls):
    """One step of the state; a wall stops the robot where it is."""
    throttle = min(max(throttle, -1.0), 1.0) + MOTOR_NOISE * motor[0]
    turn = min(max(turn, -1.0), 1.0) + MOTOR_NOISE * motor[1]
    state[RATE] += DT * 2.0 * (2.0 * turn - state[RATE])
    state[HEADING] += DT * state[RATE]
    state[COS] = np.cos(state[HEADING])
    state[SIN] = np.sin(state[HEADING])
    state[SPEED] += DT * (throttle - state[SPEED])
    x = state[X] + DT * state[SPEED] * state[COS]
    y = state[Y] + DT * state[SPEED] * state[SIN]
    for w in range(walls.shape[0]):
        x0, x1, y0, y1 = walls[w]
        if x0 < x < x1 and y0 < y < y1:
            state[SPEED] = 0.0
            return
    state[X], state[Y] = x, y


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
        total += state[X] - x
        x = state[X]
    return total, len(motor)
