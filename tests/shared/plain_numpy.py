"""Layers in plain NumPy, for tests of compiled ones."""

import numpy as np
from numpy.typing import NDArray


def plain_convolution(
    x: NDArray[np.floating], W: NDArray[np.floating], stride: int
) -> NDArray[np.float64]:
    """SAME as TensorFlow documents it: as little padding as can be, the smaller half first."""
    n, *sides, _ = x.shape
    kernel, _, _, units = W.shape
    outputs = [-(-side // stride) for side in sides]
    totals = [
        max((out - 1) * stride + kernel - side, 0) for out, side in zip(outputs, sides, strict=True)
    ]
    around = [(total // 2, total - total // 2) for total in totals]
    padded = np.pad(np.asarray(x, np.float64), [(0, 0), *around, (0, 0)])
    y = np.zeros((n, *outputs, units))
    for r in range(outputs[0]):
        for c in range(outputs[1]):
            window = padded[:, r * stride : r * stride + kernel, c * stride : c * stride + kernel]
            y[:, r, c] = np.tensordot(window, W, 3)
    return y
