"""Noise by reference: epsilon_i is a slice of one table that all workers share (adr/0002)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError

Table = NDArray[np.float32]

BLOCK = 1 << 20
LARGEST = 1 << 26  # numbers in a table, 256 MB
SHARE = 4096  # parameters that a thread sums at a time: a multiple of the block in `_weighted_sum`
WORTH_THREADS = 1 << 23  # products (2 ms); below, threads cost more than they gain


def table_size(d: int) -> int:
    """Length of the table for d parameters: a power of two near 128 d, from 4 MB to 256 MB."""
    if d > LARGEST:
        raise UsageError(
            f"a network may have at most {LARGEST:,} parameters (the size of the noise table), "
            f"got {d:,}; choose fewer or smaller layers."
        )
    return 1 << int(np.clip(np.ceil(np.log2(128 * d)), 20, 26))


def fill_table(table: Table, seed: int) -> None:
    """Fill with standard normals. Each block has its own stream, so threads can share the work."""

    def fill(block: int) -> None:
        rows = table[block * BLOCK : (block + 1) * BLOCK]
        rng = generator(seed, 0, block, Purpose.NOISE_TABLE)
        rng.standard_normal(out=rows, dtype=np.float32)

    blocks = range(-(-table.size // BLOCK))
    with ThreadPoolExecutor(max_workers=min(4, len(blocks))) as pool:
        list(pool.map(fill, blocks))


def row_of(table: Table, offset: np.int64, d: int) -> Table:
    """epsilon of the pair with this offset, (d,), a view of the table."""
    return table[offset : offset + d]


@dataclass(frozen=True)
class Epsilon:
    """n mirrored perturbations of d parameters: candidates 2i and 2i + 1 are +, - epsilon_i."""

    table: Table
    offsets: NDArray[np.int64]
    d: int

    def row(self, pair: int) -> Table:
        """epsilon of a pair, (d,), a view of the table."""
        return row_of(self.table, self.offsets[pair], self.d)

    def weighted_sum(self, F: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
        """sum_i F_i epsilon_i, (d,), with epsilon_{2i+1} = -epsilon_{2i}.

        Threads share the parameters, not the candidates: any number of them gives the same bits.
        """
        if F.size != 2 * self.offsets.size:  # compiled code does not check bounds
            raise ValueError(f"F must have {2 * self.offsets.size} numbers, got {F.size}.")
        weights = F[::2] - F[1::2]
        if threads == 1 or self.d * weights.size < WORTH_THREADS:
            return _weighted_sum(self.table, self.offsets, weights, self.d)
        g = np.empty(self.d)

        def add(start: int) -> None:
            part = g[start : start + SHARE]
            part[:] = _weighted_sum(self.table, self.offsets + start, weights, part.size)

        with ThreadPoolExecutor(max_workers=threads) as pool:
            list(pool.map(add, range(0, self.d, SHARE)))
        return g


def sample(table: Table, d: int, n: int, seed: int, generation: int) -> Epsilon:
    """n / 2 offsets into the table for one generation."""
    rng = generator(seed, generation, 0, Purpose.PERTURBATION)
    return Epsilon(table, rng.integers(table.size - d + 1, size=n // 2, dtype=np.int64), d)


@compiled
def perturb(theta, sigma, epsilon, out):
    """out = theta + sigma * epsilon in float32; sigma is negative for the mirrored half."""
    sigma = np.float32(sigma)
    for j in range(theta.size):
        out[j] = theta[j] + sigma * epsilon[j]


@compiled
def _weighted_sum(table, offsets, weights, d):
    """sum_i weights_i row_i, (d,), four rows at a time; a block of parameters stays in the cache.

    The order of additions depends only on the row index, so the bits do not depend on the blocks.
    """
    g = np.zeros(d)
    whole = offsets.size // 4 * 4
    for start in range(0, d, 1024):
        stop = min(d, start + 1024)
        part = g[start:stop]
        for i in range(0, whole, 4):
            w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            r0 = table[offsets[i] + start :]
            r1 = table[offsets[i + 1] + start :]
            r2 = table[offsets[i + 2] + start :]
            r3 = table[offsets[i + 3] + start :]
            for j in range(stop - start):
                part[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
        for i in range(whole, offsets.size):
            row = table[offsets[i] + start :]
            for j in range(stop - start):
                part[j] += weights[i] * row[j]
    return g
