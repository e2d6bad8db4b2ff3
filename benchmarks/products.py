"""Our matrix kernels against a plain compiled loop and NumPy's BLAS, in turns on one core."""

import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.foundation import Measure
from nses.core.compiled import compiled
from nses.core.seeding import Purpose, generator
from nses.execution.cpus import ONE_THREAD
from nses.rollouts.native.convolution import (
    FLAT,
    IMAGE1,
    IMAGE2,
    INPUTS,
    UNITS,
    WINDOWS1,
    WINDOWS2,
)
from nses.rollouts.native.products import Windows, multiply

ROUNDS = 200
BATCH = 128  # observations of virtual batch norm
PRODUCTS = {  # of the Atari network: numbers in x, windows, inputs, units
    "first convolution": (IMAGE1.size, WINDOWS1, INPUTS[0], UNITS[0]),
    "second convolution": (IMAGE2.size, WINDOWS2, INPUTS[1], UNITS[1]),
    "dense layer, 128 observations": (
        BATCH * FLAT,
        Windows(np.arange(BATCH) * FLAT, np.arange(FLAT)),
        INPUTS[2],
        UNITS[2],
    ),
}


@compiled
def plain(x, windows, theta, columns, y):
    """The same sums in the same order, four inputs at a time, which Numba vectorises."""
    assert windows.steps.size % 4 == 0
    for i in range(windows.places.size):
        row, place = y[i * columns : (i + 1) * columns], windows.places[i]
        row[:] = np.float32(0.0)
        for k in range(0, windows.steps.size, 4):
            x0, x1 = x[place + windows.steps[k]], x[place + windows.steps[k + 1]]
            x2, x3 = x[place + windows.steps[k + 2]], x[place + windows.steps[k + 3]]
            w0 = theta[k * columns : (k + 1) * columns]
            w1 = theta[(k + 1) * columns : (k + 2) * columns]
            w2 = theta[(k + 2) * columns : (k + 3) * columns]
            w3 = theta[(k + 3) * columns : (k + 4) * columns]
            for j in range(columns):
                row[j] = (((row[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]


def products() -> Iterator[Measure]:
    """The time of the others divided by that of the kernels, the fastest of many turns each."""
    os.environ.update(ONE_THREAD)
    for name, (size, windows, inputs, columns) in PRODUCTS.items():
        ours, loop, blas = fastest(size, windows, inputs, columns)
        for way, seconds in (("a plain compiled loop", loop), ("NumPy", blas)):
            what = f"{name}: time of {way} to the {1e6 * ours:.0f} µs of our kernels"
            yield Measure(what, seconds / ours, "×", "", True)


def fastest(size: int, windows: Windows, inputs: int, columns: int) -> list[float]:
    """Seconds of the kernels, the plain loop and NumPy."""
    rng = generator(0, 0, 0, Purpose.EPISODE)
    x, theta = (
        rng.standard_normal(size, np.float32),
        rng.standard_normal(inputs * columns, np.float32),
    )
    wanted = np.ones(windows.places.size, np.uint8)
    y, other = (np.empty(windows.places.size * columns, np.float32) for _ in range(2))
    gathered, w = windows.places[:, None] + windows.steps, theta.reshape(inputs, columns)
    ways = (
        lambda: multiply(x, windows, wanted, theta, 0, columns, y),
        lambda: plain(x, windows, theta, columns, other),
        lambda: x[gathered] @ w,
    )
    turns = [[_seconds(act) for act in ways] for _ in range(ROUNDS // (4 if inputs == FLAT else 1))]
    np.testing.assert_allclose(y, other, rtol=1e-3, atol=1e-3)
    return np.min(turns, axis=0).tolist()


def _seconds(act: Callable[[], object]) -> float:
    before = time.perf_counter()
    act()
    return time.perf_counter() - before
