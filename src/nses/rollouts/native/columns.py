"""Dense layers of few units: their sums stay in registers while the inputs pass by.

Written in LLVM's words, because Numba keeps no array in registers. The sums are those of a plain
loop, in the same order, and nothing is fused: the bits do not depend on the registers.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

GROUP = 4  # inputs at a time


class _Layer:
    """The numbers of a dense layer as LLVM sees them, W row by row at theta[start:], then b."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, lanes: int):
        def array(index: int) -> Any:
            return context.make_array(signature.args[index])(context, builder, arguments[index])

        self.builder, self.start = builder, arguments[1]
        self.whole = self.start.type
        self.theta, self.x, self.y = (array(index).data for index in (0, 2, 3))
        (self.inputs,) = cgutils.unpack_tuple(builder, array(2).shape, 1)
        (self.units,) = cgutils.unpack_tuple(builder, array(3).shape, 1)
        self.vector = ir.VectorType(ir.FloatType(), lanes)

    def place(self, data: Any, index: Any) -> Any:
        """The address of the vector that begins at an index."""
        return self.builder.bitcast(self.builder.gep(data, [index]), self.vector.as_pointer())

    def row(self, i: Any, unit: Any) -> Any:
        """Some of row i of W, from a unit on; row `inputs` is b."""
        begin = self.builder.add(self.start, self.builder.mul(i, self.units))
        place = self.place(self.theta, self.builder.add(begin, unit))
        return self.builder.load(place, align=4)

    def product(self, i: Any, unit: Any) -> Any:
        return self.builder.fmul(self.input(i), self.row(i, unit))

    def input(self, i: Any) -> Any:
        """x[i] in all lanes."""
        lane, nothing = ir.IntType(32), ir.Constant(self.vector, ir.Undefined)
        number = self.builder.load(self.builder.gep(self.x, [i]))
        one = self.builder.insert_element(nothing, number, lane(0))
        everywhere = ir.Constant(ir.VectorType(lane, self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(one, nothing, everywhere)

    def first_units(self, vectors: int) -> list[Any]:
        """The first unit of each vector. The last one ends with the last unit: it may overlap."""
        lanes = self.whole(self.vector.count)
        return [
            *(self.whole(self.vector.count * v) for v in range(vectors - 1)),
            self.builder.sub(self.units, lanes),
        ]


def _added_in_turn(layer: _Layer, unit: Any) -> Any:
    """One sum per unit: four products at a time are added to each other, then to the sum."""
    add = layer.builder.fadd
    held = cgutils.alloca_once_value(layer.builder, layer.row(layer.inputs, unit))

    def group(first: Any) -> None:
        a, b, c, d = (layer.product(i, unit) for i in _next(layer, first))
        more = add(add(a, b), add(c, d))
        layer.builder.store(add(layer.builder.load(held), more), held)

    def single(i: Any) -> None:
        layer.builder.store(add(layer.builder.load(held), layer.product(i, unit)), held)

    return group, single, lambda: layer.builder.load(held)


def _added_in_parts(layer: _Layer, unit: Any) -> Any:
    """Four sums per unit, each of every fourth product, which are added in the end."""
    builder, add = layer.builder, layer.builder.fadd
    nothing = ir.Constant(layer.vector, [0.0] * layer.vector.count)
    parts = [layer.row(layer.inputs, unit), nothing, nothing, nothing]
    held = [cgutils.alloca_once_value(builder, part) for part in parts]

    def group(first: Any) -> None:
        for part, i in zip(held, _next(layer, first), strict=True):
            builder.store(add(builder.load(part), layer.product(i, unit)), part)

    def single(i: Any) -> None:
        builder.store(add(builder.load(held[0]), layer.product(i, unit)), held[0])

    def total() -> Any:
        a, b, c, d = (builder.load(part) for part in held)
        return add(add(a, b), add(c, d))

    return group, single, total


def _next(layer: _Layer, first: Any) -> list[Any]:
    return [layer.builder.add(first, layer.whole(k)) for k in range(GROUP)]


def kernel(lanes: int, vectors: int, sums: Any = _added_in_turn) -> Any:
    """A compiled y = x W + b for more than lanes · (vectors - 1) units, at most lanes · vectors.

    Nothing is checked. Fewer units than lanes would be read from beyond the layer.
    """

    @intrinsic
    def dense(typing: Any, theta: Any, start: Any, x: Any, y: Any) -> Any:
        signature = types.void(theta, start, x, y)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            layer = _Layer(context, builder, signature, arguments, lanes)
            units = layer.first_units(vectors)
            columns = [sums(layer, unit) for unit in units]
            whole, four = layer.whole, layer.whole(GROUP)
            groups = builder.udiv(layer.inputs, four)
            with cgutils.for_range(builder, groups, intp=whole) as loop:
                for group, _, _ in columns:
                    group(builder.mul(loop.index, four))
            rest = builder.mul(groups, four)
            with cgutils.for_range_slice(builder, rest, layer.inputs, whole(1), whole) as (i, _):
                for _, single, _ in columns:
                    single(i)
            for unit, (_, _, total) in zip(units, columns, strict=True):
                builder.store(total(), layer.place(layer.y, unit), align=4)
            return context.get_dummy_value()

        return signature, generate

    return dense


four_to_seven = kernel(4, 2, _added_in_parts)
eight_to_fifteen = kernel(8, 2)
up_to_16, up_to_32, up_to_48, up_to_64 = (kernel(16, vectors) for vectors in (1, 2, 3, 4))
