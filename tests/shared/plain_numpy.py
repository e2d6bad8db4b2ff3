"""Layers in plain NumPy, for tests of compiled ones."""

import numpy as np
from numpy.typing import NDArray


def plain_convolution(
    x: NDArray[np.floating], W: NDArray[np.floating], stride: int
) -> NDArray[np.float64]:
    """SAME as TensorFlow documents it: as little padding as can be, the smaller half first."""
    n, side, _, channels = x.shape
    kernel, _, _, units = W.shape
    outputs = -(-side // stride)
    total = max((outputs - 1) * stride + kernel - side, 0)
    padded = np.zeros((n, side + total, side + total, channels))
    padded[:, total // 2 : total // 2 + side, total // 2 : total // 2 + side] = x
    y = np.zeros((n, outputs, outputs, units))
    for r in range(outputs):
        for c in range(outputs):
            window = padded[:, r * stride : r * stride + kernel, c * stride : c * stride + kernel]
            y[:, r, c] = np.tensordot(window, W, 3)
    return y
