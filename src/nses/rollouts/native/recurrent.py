"""The compiled forward pass of a network with a gated recurrent unit."""

import numpy as np

from nses.core.compiled import compiled
from nses.rollouts.native.network import activate, dense, forward, normalize, tanh

f32 = np.float32


@compiled
def recur(theta, start, x, h):
    """One step of a gated recurrent unit (Cho et al. 2014); h becomes the state after it.

    r, z = σ([x, h] W + b),  g = tanh([x, r h] V + c),  h ← z h + (1 - z) g

    W, b, V, c stand in this order at theta[start:]; returns where they end.
    """
    inputs, units = x.size, h.size
    joined = np.empty(inputs + units, f32)
    gates = np.empty(2 * units, f32)
    g = np.empty(units, f32)
    for j in range(inputs):
        joined[j] = x[j]
    for j in range(units):
        joined[inputs + j] = h[j]
    start = dense(theta, start, joined, gates)
    for j in range(gates.size):
        gates[j] = f32(0.5) + f32(0.5) * tanh(f32(0.5) * gates[j])  # the logistic function
    for j in range(units):
        joined[inputs + j] = gates[j] * h[j]
    start = dense(theta, start, joined, g)
    for j in range(units):
        z = gates[units + j]
        h[j] = z * h[j] + (f32(1.0) - z) * tanh(g[j])
    return start


@compiled
def respond(theta, front, start, activation, mean, std, observation, h, outputs, work):
    """Observation to output through the layers in front, the unit and a linear layer.

    `start` is where the unit's parameters begin; h becomes the state after this step.
    """
    if observation.size != front[0]:
        raise ValueError("an observation must have as many numbers as the policy has inputs.")
    normalize(observation, mean, std, work[0])
    x = forward(theta, front, activation, work)
    if front.size > 1:
        activate(x, activation)  # `forward` leaves its last layer linear
    y = np.empty(outputs, f32)
    dense(theta, recur(theta, start, x, h), h, y)
    return y
