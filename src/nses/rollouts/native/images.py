"""The compiled convolutional network for images of any size.

The same layers as for Atari games, fitted to the image. That one has code of its own, because it
knows all sizes when it is compiled, and looks only at what has changed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.rollouts.native.convolution import (
    ROWS4,
    SIDES,
    UNITS,
    Image,
    Norms,
    activate,
    convolution,
    fold,
    keep,
)
from nses.rollouts.native.network import dense
from nses.rollouts.native.products import Indices, Windows, multiply, multiply_vector

f32 = np.float32
Vector = NDArray[np.float32]


class Layers(NamedTuple):
    """Two convolutions and a dense layer: their inputs, and where they stand in theta."""

    order: Indices  # of the numbers (row, column, channel) in a flat observation
    unit: float  # 1 / white
    image1: Image
    windows1: Windows
    image2: Image
    windows2: Windows
    rows3: Indices
    places: Indices  # in theta: W, then b, γ and β of each of them; W and b of the last


class Fit(NamedTuple):
    """The sizes of the layers for an image: (rows, columns) and filters."""

    sides: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    channels: int
    kernels: tuple[int, int]
    strides: tuple[int, int]

    @property
    def inputs(self) -> tuple[int, int, int]:
        """Of a unit of each hidden layer."""
        height, width = self.sides[2]
        first, second = (k * k for k in self.kernels)
        return first * self.channels, second * UNITS[0], height * width * UNITS[1]

    @property
    def fields(self) -> tuple[int, int, int]:
        """Pixels that a unit sees: a weight is used by as many outputs."""
        first, second = (k * k for k in self.kernels)
        return first, second, 1

    @property
    def places(self) -> Indices:
        """Where W, and b, γ, β of each hidden layer stand in theta; the last W at the end."""
        sizes = [x for i, o in zip(self.inputs, UNITS, strict=True) for x in (i * o, 3 * o)]
        return np.cumsum([0, *sizes])


def fitted(height: int, width: int, channels: int) -> Fit:
    """As in the paper, the first layer reduces the longer side to at most 21, the next halves it.

    84 × 84 gives the paper's filters: 8 × 8 / 4, then 4 × 4 / 2.
    """
    stride = -(-max(height, width) // SIDES[1])
    first = -(-height // stride), -(-width // stride)
    second = -(-first[0] // 2), -(-first[1] // 2)
    kernel = max(3, 2 * stride)
    return Fit(((height, width), first, second), channels, (kernel, 4), (stride, 2))


def layers_of(fit: Fit, order: Indices, white: float) -> Layers:
    image1, windows1 = convolution(fit.sides[0], fit.channels, fit.kernels[0], fit.strides[0])
    image2, windows2 = convolution(fit.sides[1], UNITS[0], fit.kernels[1], fit.strides[1])
    height, width = fit.sides[2]
    rows3 = np.arange(height) * (width * UNITS[1])
    return Layers(order, 1.0 / white, image1, windows1, image2, windows2, rows3, fit.places)


def norms_of(fit: Fit) -> Norms:
    widths = fit.sides[1][1] * UNITS[0], fit.sides[2][1] * UNITS[1], UNITS[2]
    return Norms(*(np.zeros((2, width), f32) for width in widths))


class Room(NamedTuple):
    """x goes into a layer, y comes out of its product."""

    x1: Vector
    y1: Vector
    x2: Vector
    y2: Vector
    x3: Vector
    live: Indices
    y3: Vector
    y4: Vector


def room_for(fit: Fit, layers: Layers, actions: int) -> Room:
    flat = fit.inputs[2]
    return Room(
        x1=np.zeros(layers.image1.size, f32),
        y1=np.zeros(layers.windows1.places.size * UNITS[0], f32),
        x2=np.zeros(layers.image2.size, f32),
        y2=np.zeros(flat, f32),
        x3=np.zeros(flat, f32),
        live=np.zeros(flat, np.int64),
        y3=np.zeros(UNITS[2], f32),
        y4=np.zeros(actions, f32),
    )


@compiled
def see(observation, layers, x):
    """Takes in a flat observation, row by row within the zeros around the image."""
    rows, order = layers.image1.rows, layers.order
    width = order.size // rows.size
    for r in range(rows.size):
        to = x[rows[r] : rows[r] + width]
        for j in range(width):
            to[j] = f32(observation[order[r * width + j]])


@compiled
def first_layer(observation, theta, layers, room):
    see(observation, layers, room.x1)
    everywhere = np.ones(layers.windows1.places.size, np.uint8)
    place = layers.places[0]
    multiply(room.x1, layers.windows1, everywhere, theta, place, UNITS[0], room.y1)


@compiled
def second_layer(y1, theta, layers, norms, room):
    activate(y1, norms.first, layers.image2.rows, room.x2)
    everywhere = np.ones(layers.windows2.places.size, np.uint8)
    place = layers.places[2]
    multiply(room.x2, layers.windows2, everywhere, theta, place, UNITS[1], room.y2)


@compiled
def adapt(theta, reference, layers, room, norms):
    """Fills the norms from the reference batch, (n, numbers of an observation), layer by layer."""
    n, places = len(reference), layers.places
    y1, y2 = np.empty((n, room.y1.size), f32), np.empty((n, room.y2.size), f32)
    y3 = np.empty((n, UNITS[2]), f32)
    for i in range(n):
        first_layer(reference[i], theta, layers, room)
        keep(room.y1, y1[i])
    fold(y1.reshape(-1, UNITS[0]), layers.unit, theta, places[1], norms.first)
    for i in range(n):
        second_layer(y1[i], theta, layers, norms, room)
        keep(room.y2, y2[i])
    fold(y2.reshape(-1, UNITS[1]), 1.0, theta, places[3], norms.second)
    for i in range(n):
        activate(y2[i], norms.second, layers.rows3, y2[i])
    flat = room.y2.size
    samples = Windows(np.arange(n) * flat, np.arange(flat))
    everyone = np.ones(n, np.uint8)
    multiply(y2.reshape(-1), samples, everyone, theta, places[4], UNITS[2], y3.reshape(-1))
    fold(y3, 1.0, theta, places[5], norms.third)


@compiled
def respond(observation, theta, layers, norms, room):
    """The logits of a flat observation."""
    first_layer(observation, theta, layers, room)
    second_layer(room.y1, theta, layers, norms, room)
    activate(room.y2, norms.second, layers.rows3, room.x3)
    multiply_vector(room.x3, room.live, theta, layers.places[4], room.y3)
    activate(room.y3, norms.third, ROWS4, room.y3)
    dense(theta, layers.places[6], room.y3, room.y4)
    return room.y4.copy()
