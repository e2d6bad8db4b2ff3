"""Compiled matrix products, as fast as a BLAS library's for small networks.

Unlike there, every sum runs over its inputs in the same order, whatever else is computed and by how
many threads: the bits of an output depend on its inputs and weights only. All arrays are flat.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from nses.core.compiled import compiled

ROWS, COLUMNS = 6, 16  # with weights and input, 15 of the 16 registers of AVX, or 8 of AVX-512
CHUNK = 256  # inputs at a time: 256 KB of the widest layer's weights, half of a usual L2 cache

VECTOR = ir.VectorType(ir.FloatType(), COLUMNS)

f32 = np.float32
Indices = NDArray[np.int64]


class Windows(NamedTuple):
    """Where a layer finds its inputs: number k of window i is x[places[i] + steps[k]]."""

    places: Indices
    steps: Indices


@intrinsic
def add_tile(
    typing: Any, x: Any, places: Any, steps: Any, w: Any, row: Any, columns: Any, y: Any, rows: Any
) -> Any:
    """y[rows[i] + j] += Σ_k x[places[i] + steps[k]] · w[row + k·columns + j].

    For i < ROWS and j < COLUMNS, in fused multiply-adds, k ascending. x, w and y are float32, the
    indices int64; nothing is checked. Written in LLVM's words, because Numba keeps no array in
    registers and fuses no multiply-add.
    """
    signature = types.void(x, places, steps, w, row, columns, y, rows)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def array(index: int) -> Any:
            return context.make_array(signature.args[index])(context, builder, arguments[index])

        def load(data: Any, index: Any) -> Any:
            return builder.load(builder.gep(data, [index]))

        def vector_at(data: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())

        x, places, steps, w, y, rows = (array(index) for index in (0, 1, 2, 3, 6, 7))
        row, columns = arguments[4], arguments[5]
        whole = columns.type
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(VECTOR, [VECTOR] * 3), f"llvm.fma.v{COLUMNS}f32"
        )

        inputs = [builder.gep(x.data, [load(places.data, whole(i))]) for i in range(ROWS)]
        outputs = [vector_at(y.data, load(rows.data, whole(i))) for i in range(ROWS)]
        sums = [
            cgutils.alloca_once_value(builder, builder.load(output, align=4)) for output in outputs
        ]
        (count,) = cgutils.unpack_tuple(builder, steps.shape, 1)
        with cgutils.for_range(builder, count, intp=whole) as loop:
            step = load(steps.data, loop.index)
            start = builder.add(row, builder.mul(columns, loop.index))
            weights = builder.load(vector_at(w.data, start), align=4)
            for place, held in zip(inputs, sums, strict=True):
                value = _spread(builder, load(place, step))
                builder.store(builder.call(fma, [value, weights, builder.load(held)]), held)
        for held, output in zip(sums, outputs, strict=True):
            builder.store(builder.load(held), output, align=4)
        return context.get_dummy_value()

    return signature, generate


def _spread(builder: Any, number: Any) -> Any:
    """A vector that holds one number in all lanes."""
    nothing, lane = ir.Constant(VECTOR, ir.Undefined), ir.IntType(32)
    vector = builder.insert_element(nothing, number, lane(0))
    return builder.shuffle_vector(
        vector, nothing, ir.Constant(ir.VectorType(lane, COLUMNS), [0] * COLUMNS)
    )


@compiled
def multiply(x, windows, wanted, theta, start, columns, y):
    """Rows of y = windows of x times W, one per wanted window; the other rows stay as they are.

    W stands at theta[start:], inputs × columns, a multiple of COLUMNS.
    """
    places = np.empty(windows.places.size + ROWS, np.int64)
    rows = np.empty(windows.places.size + ROWS, np.int64)
    count = 0
    for i in range(windows.places.size):
        if wanted[i]:
            places[count], rows[count] = windows.places[i], i * columns
            y[i * columns : (i + 1) * columns] = f32(0.0)
            count += 1
    while count % ROWS:  # the last window once more, which gives the same row once more
        places[count], rows[count] = places[count - 1], rows[count - 1]
        count += 1
    for k in range(0, windows.steps.size, CHUNK):
        steps = windows.steps[k : k + CHUNK]
        for j in range(0, columns, COLUMNS):
            w = start + k * columns + j
            for i in range(0, count, ROWS):
                add_tile(  # type: ignore[call-arg]
                    x, places[i:], steps, theta, w, columns, y[j:], rows[i:]
                )


@compiled
def multiply_vector(x, live, theta, start, y):
    """y = x W with W row by row at theta[start:]; `live` is room for the indices of x.

    Rows of W that meet a zero are not even read: behind a ReLU, half of them. If they are finite
    that changes no bit, since adding ±0 to a sum that started at 0 does nothing.
    """
    columns, count = y.size, 0
    for i in range(x.size):
        live[count] = i
        count += x[i] != f32(0.0)
    y[:] = f32(0.0)
    whole = count // 4 * 4
    for i in range(0, whole, 4):
        i0, i1, i2, i3 = live[i], live[i + 1], live[i + 2], live[i + 3]
        x0, x1, x2, x3 = x[i0], x[i1], x[i2], x[i3]
        w0 = theta[start + i0 * columns : start + (i0 + 1) * columns]
        w1 = theta[start + i1 * columns : start + (i1 + 1) * columns]
        w2 = theta[start + i2 * columns : start + (i2 + 1) * columns]
        w3 = theta[start + i3 * columns : start + (i3 + 1) * columns]
        for j in range(columns):
            y[j] = (((y[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]
    for i in live[whole:count]:
        w = theta[start + i * columns : start + (i + 1) * columns]
        for j in range(columns):
            y[j] += x[i] * w[j]
