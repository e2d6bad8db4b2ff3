"""The compiled forward pass of an MLP: one function for Python steps and for compiled episodes."""

from math import isfinite

import numpy as np

from nses.core.compiled import compiled
from nses.core.moments import CLIP, LARGEST

TANH, RELU = 0, 1
ACTIVATIONS = {"tanh": TANH, "relu": RELU}

LARGEST_INPUT = 1e30

f32 = np.float32


@compiled
def tanh(x):
    """tanh of a float32 within 4e-7, as a quotient of polynomials in x².

    Fitted for this package on [-9, 9]. Unlike the C library's it fills vector registers (ten times
    as fast) and has the same bits on every system.
    """
    x = f32(-9.0) if x < f32(-9.0) else x  # min and max would stop the vectoriser
    x = f32(9.0) if x > f32(9.0) else x
    u = x * x
    p = f32(5.08566278e-08)
    p = p * u + f32(3.16158205e-05)
    p = p * u + f32(0.00400973644)
    p = p * u + f32(0.137863264)
    p = p * u + f32(0.999999999)
    q = f32(7.3934864e-10)
    q = q * u + f32(1.61956379e-06)
    q = q * u + f32(0.000420962913)
    q = q * u + f32(0.0277419473)
    q = q * u + f32(0.471196588)
    q = q * u + f32(1.0)
    return x * p / q


@compiled
def dense(theta, start, x, y):
    """y = x W + b with W row by row at theta[start:], then b; returns where b ends.

    Adding whole rows of W keeps the inner loop free of reductions: it vectorises without fastmath.
    """
    inputs, outputs = x.size, y.size
    bias = start + inputs * outputs
    whole = inputs // 4 * 4
    if outputs < 8:  # too few for a vector: one dot product each, in four parts
        for j in range(outputs):
            p0, p1, p2, p3 = theta[bias + j], f32(0.0), f32(0.0), f32(0.0)
            for i in range(0, whole, 4):
                w = start + i * outputs + j
                p0 += x[i] * theta[w]
                p1 += x[i + 1] * theta[w + outputs]
                p2 += x[i + 2] * theta[w + 2 * outputs]
                p3 += x[i + 3] * theta[w + 3 * outputs]
            for i in range(whole, inputs):
                p0 += x[i] * theta[start + i * outputs + j]
            y[j] = (p0 + p1) + (p2 + p3)
        return bias + outputs
    for j in range(outputs):  # assigning a slice takes seconds to compile
        y[j] = theta[bias + j]
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        row = start + i * outputs
        w0 = theta[row : row + outputs]
        w1 = theta[row + outputs : row + 2 * outputs]
        w2 = theta[row + 2 * outputs : row + 3 * outputs]
        w3 = theta[row + 3 * outputs : row + 4 * outputs]
        for j in range(outputs):
            y[j] += (x0 * w0[j] + x1 * w1[j]) + (x2 * w2[j] + x3 * w3[j])
    for i in range(whole, inputs):
        w = theta[start + i * outputs : start + (i + 1) * outputs]
        for j in range(outputs):
            y[j] += x[i] * w[j]
    return bias + outputs


@compiled
def normalize(observation, mean, std, x):
    """x = clip((o - mean) / std, -5, 5) as float32; where std is empty, o itself within ±1e30.

    Sums of products with a larger o would leave float32, and end as NaN.
    """
    for j in range(observation.size):
        value = observation[j]
        if std.size:
            value = min(max((value - mean[j]) / std[j], -CLIP), CLIP)
        else:
            value = min(max(value, -LARGEST_INPUT), LARGEST_INPUT)
        x[j] = f32(value)


@compiled
def activate(y, activation):
    """The activation of a hidden layer, in place."""
    if activation == TANH:
        for j in range(y.size):
            y[j] = tanh(y[j])
    else:
        for j in range(y.size):
            y[j] = y[j] if y[j] > f32(0.0) else f32(0.0)


@compiled
def forward(theta, sizes, activation, work):
    """The output of the network whose input stands in work[0]; a view of a row of work."""
    start, row = 0, 0
    for layer in range(sizes.size - 1):
        y = work[1 - row, : sizes[layer + 1]]
        start = dense(theta, start, work[row, : sizes[layer]], y)
        if layer < sizes.size - 2:
            activate(y, activation)
        row = 1 - row
    return work[row, : sizes[-1]]


@compiled
def respond(theta, sizes, activation, mean, std, observation, work):
    """Observation to output, for one step from Python."""
    if observation.size != sizes[0]:  # here, where it costs nothing
        raise ValueError("an observation must have as many numbers as the policy has inputs.")
    normalize(observation, mean, std, work[0])
    return forward(theta, sizes, activation, work).copy()


@compiled
def take_in(observation, sums, contributes):
    """Whether an observation is finite; adds it and its square to `sums` where it contributes.

    There, numbers beyond ±1e100 count as ±1e100: their squares would be infinite.
    """
    finite = True
    for j in range(observation.size):
        finite &= isfinite(observation[j])
        if contributes:
            value = min(max(observation[j], -LARGEST), LARGEST)
            sums[0, j] += value
            sums[1, j] += value * value
    return finite
