"""The compiled convolutional network of Atari and its virtual batch norm."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.rollouts.native.network import dense
from nses.rollouts.native.pixels import (
    BLOCKS,
    CHANNELS,
    MARGIN,
    WIDTH,
    see_bytes,
    see_frames,
    see_numbers,
)
from nses.rollouts.native.products import (
    Indices,
    Windows,
    multiply,
    multiply_vector,
)

EPSILON = 1e-3  # added to the variance, under the root
WHITE = 255.0

f32 = np.float32
Vector = NDArray[np.float32]
Flags = NDArray[np.uint8]


class Image(NamedTuple):
    """Where the rows of an image (row, column, channel) start in a flat array of this size."""

    rows: Indices
    size: int


def padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after `size` inputs so that ceil(size / stride) windows fit (SAME)."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def convolution(
    sides: tuple[int, int], channels: int, kernel: int, stride: int
) -> tuple[Image, Windows]:
    """The input of a SAME convolution within its zeros, and its windows: (row, column, channel)."""
    (top, bottom), (left, right) = (padding(side, kernel, stride) for side in sides)
    width = (left + sides[1] + right) * channels
    rows = (top + np.arange(sides[0])) * width + left * channels
    down, across = (np.arange(-(-side // stride)) * stride for side in sides)
    places = down[:, None] * width + across * channels
    steps = np.arange(kernel)[:, None] * width + np.arange(kernel * channels)
    size = (top + sides[0] + bottom) * width
    return Image(rows, size), Windows(places.ravel(), steps.ravel())


SIDES = (84, 21, 11)  # of the observation and of what the two convolutions give
UNITS = 16, 32, 256
IMAGE1, WINDOWS1 = convolution((SIDES[0], SIDES[0]), CHANNELS, kernel=8, stride=4)
IMAGE2, WINDOWS2 = convolution((SIDES[1], SIDES[1]), UNITS[0], kernel=4, stride=2)
FLAT = SIDES[2] * SIDES[2] * UNITS[1]
ROWS3, ROWS4 = np.arange(SIDES[2]) * (SIDES[2] * UNITS[1]), np.zeros(1, np.int64)  # no padding
INPUTS = (WINDOWS1.steps.size, WINDOWS2.steps.size, FLAT)
assert IMAGE1.rows[0] == (WIDTH + 1) * MARGIN * CHANNELS

# Where things are in theta: W (inputs × units), b, γ, β of each hidden layer; last, W and b.
W1 = 0
N1 = W1 + INPUTS[0] * UNITS[0]
W2 = N1 + 3 * UNITS[0]
N2 = W2 + INPUTS[1] * UNITS[1]
W3 = N2 + 3 * UNITS[1]
N3 = W3 + INPUTS[2] * UNITS[2]
W4 = N3 + 3 * UNITS[2]


class Norms(NamedTuple):
    """Scale and shift of every hidden layer, (2, width), for all pixels of a row."""

    first: Vector
    second: Vector
    third: Vector


class Work(NamedTuple):
    """An observation on its way through the network: x is a layer's input, y its product.

    All of it is kept for the next observation, because only windows that see something new are
    multiplied again: in most games less than half of them.
    """

    image: Vector  # of numbers
    pixels: NDArray[np.uint32]  # of bytes: the four channels of a pixel
    seen: NDArray[np.uint32]  # the pixels in x1
    x1: Vector
    blocks: Flags
    new1: Flags
    y1: Vector
    x2: Vector
    new2: Flags
    y2: Vector
    x3: Vector
    live: Indices
    y3: Vector
    y4: Vector


def norms() -> Norms:
    widths = SIDES[1] * UNITS[0], SIDES[2] * UNITS[1], UNITS[2]
    return Norms(*(np.zeros((2, width), f32) for width in widths))


def work(actions: int) -> Work:
    """Room for all of it; `adapt` takes in the first observations."""
    return Work(
        image=np.zeros(IMAGE1.size, f32),
        pixels=np.zeros(WIDTH * WIDTH, np.uint32),
        seen=np.zeros(WIDTH * WIDTH, np.uint32),
        x1=np.zeros(IMAGE1.size, f32),
        blocks=np.zeros((BLOCKS, BLOCKS), np.uint8),
        new1=np.zeros((SIDES[1], SIDES[1]), np.uint8),
        y1=np.zeros(WINDOWS1.places.size * UNITS[0], f32),
        x2=np.zeros(IMAGE2.size, f32),
        new2=np.zeros((SIDES[2], SIDES[2]), np.uint8),
        y2=np.zeros(FLAT, f32),
        x3=np.zeros(FLAT, f32),
        live=np.zeros(FLAT, np.int64),
        y3=np.zeros(UNITS[2], f32),
        y4=np.zeros(actions, f32),
    )


@compiled
def spread(marks, kernel, stride, before, new):
    """Marks the windows that see a mark. The first ones start `before` the marks do."""
    rows, columns = marks.shape
    seen = np.zeros(before + columns + kernel, np.uint8)  # per column, margins included
    for r in range(new.shape[0]):
        top = r * stride - before
        seen[:] = 0
        for i in range(max(top, 0), min(top + kernel, rows)):
            line, to = marks[i], seen[before : before + columns]
            for j in range(columns):
                to[j] |= line[j]
        for c in range(new.shape[1]):
            mark = seen[c * stride]
            for j in range(c * stride + 1, c * stride + kernel):
                mark |= seen[j]
            new[r, c] = mark


@compiled
def fold(y, unit, theta, start, norm):
    """Virtual batch norm of unit · y + b as scale · y + shift, from the moments of y's columns.

    b, γ and β are at theta[start:]. b cancels, but must come through where it is not finite. The
    norm, scale and shift, repeats for all pixels of a row.
    """
    count, columns = y.shape
    mean, variance = np.zeros(columns), np.zeros(columns)
    for i in range(count):
        for j in range(columns):
            mean[j] += y[i, j]
    mean /= count
    for i in range(count):
        for j in range(columns):
            difference = y[i, j] - mean[j]
            variance[j] += difference * difference
    for i in range(norm.shape[1]):
        j = i % columns
        b, gamma, beta = (
            theta[start + j],
            theta[start + columns + j],
            theta[start + 2 * columns + j],
        )
        factor = gamma / np.sqrt(unit * unit * variance[j] / count + EPSILON)
        norm[0, i] = factor * unit
        norm[1, i] = beta + factor * (b - (unit * mean[j] + b))


@compiled
def activate(y, norm, rows, x):
    """x = ReLU(scale · y + shift), row by row of an image; they start at `rows` in x.

    NaN stays NaN.
    """
    scale, shift, width = norm[0], norm[1], norm.shape[1]
    for r in range(rows.size):
        values, to = y[r * width : (r + 1) * width], x[rows[r] : rows[r] + width]
        for j in range(width):
            value = values[j] * scale[j] + shift[j]
            to[j] = f32(0.0) if value < f32(0.0) else value


@compiled
def keep(values, to):
    """Copies. Assigning arrays takes Numba 8 s to compile, because of an error message."""
    for j in range(values.size):
        to[j] = values[j]


@compiled
def adapt(theta, reference, work, norms):
    """Fills the norms from the reference batch, uint8 (n, pixels), layer by layer.

    The batch's last observation stays in `work`, as if it came just before the first.
    """
    n = len(reference)
    new = np.empty((n, SIDES[1], SIDES[1]), np.uint8)
    y1, y2 = np.empty((n, work.y1.size), f32), np.empty((n, FLAT), f32)
    y3 = np.empty((n, UNITS[2]), f32)
    for i in range(n):
        see_bytes(reference[i], work, i == 0)
        spread(work.blocks, 2, 1, 0, new[i])
        multiply(work.x1, WINDOWS1, new[i].reshape(-1), theta, W1, UNITS[0], work.y1)
        keep(work.y1, y1[i])
    fold(y1.reshape(-1, UNITS[0]), 1.0 / WHITE, theta, N1, norms.first)
    for i in range(n):
        activate(y1[i], norms.first, IMAGE2.rows, work.x2)
        spread(new[i], 4, 2, 1, work.new2)
        multiply(work.x2, WINDOWS2, work.new2.reshape(-1), theta, W2, UNITS[1], work.y2)
        keep(work.y2, y2[i])
    fold(y2.reshape(-1, UNITS[1]), 1.0, theta, N2, norms.second)
    for i in range(n):
        activate(y2[i], norms.second, ROWS3, y2[i])
    samples = Windows(np.arange(n) * FLAT, np.arange(FLAT))
    multiply(y2.reshape(-1), samples, np.ones(n, np.uint8), theta, W3, UNITS[2], y3.reshape(-1))
    fold(y3, 1.0, theta, N3, norms.third)


@compiled
def respond(theta, norms, work):
    """The logits of the observation in work.x1."""
    spread(work.blocks, 2, 1, 0, work.new1)
    multiply(work.x1, WINDOWS1, work.new1.reshape(-1), theta, W1, UNITS[0], work.y1)
    activate(work.y1, norms.first, IMAGE2.rows, work.x2)
    spread(work.new1, 4, 2, 1, work.new2)
    multiply(work.x2, WINDOWS2, work.new2.reshape(-1), theta, W2, UNITS[1], work.y2)
    activate(work.y2, norms.second, ROWS3, work.x3)
    multiply_vector(work.x3, work.live, theta, W3, work.y3)
    activate(work.y3, norms.third, ROWS4, work.y3)
    dense(theta, W4, work.y3, work.y4)
    return work.y4.copy()


@compiled
def respond_to_numbers(observation, theta, norms, work):
    see_numbers(observation, work)
    return respond(theta, norms, work)


@compiled
def respond_to_frames(frames, theta, norms, work):
    see_frames(frames, work)
    return respond(theta, norms, work)
