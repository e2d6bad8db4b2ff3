"""Networks, observations and actions as graphs of ONNX nodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import CLIP, Moments
from nses.rollouts.native.convolution import UNITS, padding
from nses.rollouts.policies import standardization
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policies.gru import GRU
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.spaces import Leaf, input_of, leaves, output_of

INPUT, OUTPUT, ACTION = "observation", "output", "action"
STATE, NEXT_STATE = "state", "next_state"
ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu"}


class Graph:
    """Nodes and constants in the order in which they are added; names identify values."""

    def __init__(self) -> None:
        self.inputs, self.nodes, self.constants = [], [], []

    def input(self, name: str, shape: Sequence[int]) -> str:
        """float32, which every program has at hand, whatever the type of the space."""
        from onnx import TensorProto, helper

        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *shape]))
        return name

    def constant(self, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def add(self, kind: str, *inputs: str | NDArray[Any], name: str = "", **settings: Any) -> str:
        """A node; arrays among its inputs become constants."""
        from onnx import helper

        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [name], **settings))
        return name

    def cast(self, x: str, dtype: Any, name: str = "") -> str:
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", x, name=name, to=kind)

    def reshape(self, x: str, *shape: int, name: str = "") -> str:
        return self.add("Reshape", x, np.array([-1, *shape], np.int64), name=name)

    def slice(self, x: str, start: int, end: int) -> str:
        """Columns of a matrix."""
        return self.add("Slice", x, np.array([start]), np.array([end]), np.array([1]))


def flat_of(graph: Graph, space: Any) -> str:
    """Observations as float64 vectors, as `input_of` makes them."""
    parts = []
    for leaf in leaves(space, INPUT):
        match leaf.space:
            case spaces.Discrete():
                x = graph.cast(graph.input(leaf.name, ()), np.int64)
                parts.append(_one_hot(graph, x, int(leaf.space.start), int(leaf.space.n)))
            case spaces.MultiDiscrete():
                n, start = leaf.space.nvec.reshape(-1), leaf.space.start.reshape(-1)
                x = graph.input(leaf.name, leaf.space.shape)
                x = graph.reshape(graph.cast(x, np.int64), n.size)
                for i in range(n.size):
                    digit = graph.add("Gather", x, np.array(i), axis=1)
                    parts.append(_one_hot(graph, digit, int(start[i]), int(n[i])))
            case _:
                x = graph.input(leaf.name, leaf.space.shape)
                parts.append(graph.reshape(graph.cast(x, np.float64), input_of(leaf.space).size))
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _one_hot(graph: Graph, x: str, start: int, n: int) -> str:
    index = graph.add("Sub", x, np.array(start, np.int64))
    values = np.array([0.0, 1.0], np.float32)  # onnxruntime has no OneHot for doubles
    return graph.cast(graph.add("OneHot", index, np.array(n), values, axis=-1), np.float64)


def mlp_of(
    graph: Graph,
    policy: MLP,
    theta: NDArray[np.float32],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    x: str,
) -> str:
    x, start = standardized(graph, x, mean, std), 0
    for i, o in zip(policy.sizes, policy.sizes[1:], strict=False):
        W, b = theta[start : start + i * o].reshape(i, o), theta[start + i * o :][:o]
        x, start = graph.add("Gemm", x, W, b), start + (i + 1) * o
        if start < theta.size:
            x = graph.add(ACTIVATIONS[policy.activation], x)
    return x


def gru_of(
    graph: Graph,
    policy: GRU,
    theta: NDArray[np.float32],
    moments: Moments,
    x: str,
    state: str,
) -> str:
    """Adds the next state by its name."""
    layers, start = [], 0
    for i, o in policy.layers:
        layers.append((theta[start:][: i * o].reshape(i, o), theta[start + i * o :][:o]))
        start += (i + 1) * o
    *front, gating, renewing, last = layers
    mean, std = standardization(moments, policy.observation_size, policy.normalize)
    x = standardized(graph, x, mean, std)
    for layer in front:
        x = graph.add(ACTIVATIONS[policy.activation], graph.add("Gemm", x, *layer))
    joined = graph.add("Concat", x, state, axis=1)
    gates = graph.add("Sigmoid", graph.add("Gemm", joined, *gating))
    r, z = (
        graph.add("Gather", gates, np.arange(policy.units) + policy.units * which, axis=1)
        for which in (0, 1)
    )
    joined = graph.add("Concat", x, graph.add("Mul", r, state), axis=1)
    new = graph.add("Tanh", graph.add("Gemm", joined, *renewing))
    kept = graph.add("Mul", z, graph.add("Sub", state, new))  # z h + (1 - z) g = g + z (h - g)
    return graph.add("Gemm", graph.add("Add", new, kept, name=NEXT_STATE), *last)


def standardized(graph: Graph, x: str, mean: NDArray[np.float64], std: NDArray[np.float64]) -> str:
    """Flat observations as the inputs of a network, float32."""
    if std.size:  # in float64, like the compiled code
        x = graph.add("Div", graph.add("Sub", x, mean), std)
        x = graph.add("Clip", x, np.array(-CLIP), np.array(CLIP))
    return graph.cast(x, np.float32)


def conv_of(graph: Graph, policy: Conv, theta: NDArray[np.float32], x: str) -> str:
    """Virtual batch norm is constant, given the reference batch: a scale and a shift per unit."""
    norms, fit = policy.norms(theta), policy.fit
    rows, columns, *stacked = (axis + 1 for axis in policy.image.axes)  # after that of the batch
    x = graph.add("Transpose", graph.cast(x, np.float32), perm=[0, *stacked, rows, columns])
    channels, places = (fit.channels, *UNITS), fit.places
    x = graph.reshape(x, fit.channels, *fit.sides[0])
    for i, norm in enumerate((norms.first, norms.second)):
        kernel, stride = fit.kernels[i], fit.strides[i]
        before, after = zip(*(padding(side, kernel, stride) for side in fit.sides[i]), strict=True)
        shape = (kernel, kernel, channels[i], channels[i + 1])
        W = theta[places[2 * i] : places[2 * i + 1]].reshape(shape).transpose(3, 2, 0, 1)
        pads, strides = [*before, *after], [stride, stride]
        x = graph.add("Conv", x, W, pads=pads, strides=strides, kernel_shape=[kernel, kernel])
        scale, shift = norm[:, : channels[i + 1], None, None]
        x = graph.add("Relu", graph.add("Add", graph.add("Mul", x, scale), shift))
    x = graph.reshape(graph.add("Transpose", x, perm=[0, 2, 3, 1]), fit.inputs[2])
    W = theta[places[4] : places[5]].reshape(fit.inputs[2], UNITS[2])
    x = graph.add("Mul", graph.add("MatMul", x, W), norms.third[0])
    x = graph.add("Relu", graph.add("Add", x, norms.third[1]))
    last = places[6] + UNITS[2] * policy.actions
    return graph.add(
        "Gemm", x, theta[places[6] : last].reshape(UNITS[2], policy.actions), theta[last:]
    )


def actions_of(graph: Graph, space: Any) -> list[Any]:
    """Add the action, computed from `output` like `output_of` does: an output for each part."""
    from onnx import helper

    outputs, start = [], 0
    for leaf in leaves(space, ACTION):
        size, y = output_of(leaf.space).size, OUTPUT
        if leaf.keys:
            y = graph.slice(y, start, start + size)
        outputs.append(helper.make_tensor_value_info(leaf.name, *_action(graph, leaf, y)))
        start += size
    return outputs


def _action(graph: Graph, leaf: Leaf, y: str) -> tuple[int, list[Any]]:
    """A part of the action, from its part of the output; returns its type and shape."""
    from onnx import TensorProto, helper

    space, dtype = leaf.space, leaf.space.dtype
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    match space:
        case spaces.Discrete():
            index = graph.add("ArgMax", y, axis=1, keepdims=0)
            graph.add("Add", index, np.array(int(space.start), np.int64), name=leaf.name)
            return TensorProto.INT64, ["N"]
        case spaces.MultiBinary():
            yes = graph.add("Greater", y, np.array(0, np.float32))
            graph.reshape(graph.cast(yes, dtype), *space.shape, name=leaf.name)
            return kind, ["N", *space.shape]
        case spaces.MultiDiscrete():
            ends = np.cumsum(space.nvec.reshape(-1)).tolist()
            groups = [graph.slice(y, *ab) for ab in zip([0, *ends], ends, strict=False)]
            chosen = [graph.add("ArgMax", group, axis=1, keepdims=1) for group in groups]
            index = graph.add("Concat", *chosen, axis=1)
            index = graph.add("Add", index, space.start.reshape(-1).astype(np.int64))
            graph.reshape(graph.cast(index, dtype), *space.shape, name=leaf.name)
            return kind, ["N", *space.shape]
    wide = np.promote_types(np.float32, dtype)
    y = graph.reshape(graph.cast(y, wide), *space.shape)
    y = graph.add("Min", graph.add("Max", y, space.low.astype(wide)), space.high.astype(wide))
    graph.cast(y, dtype, name=leaf.name)
    return kind, ["N", *space.shape]
