"""Torch modules as parts of an ONNX graph, by torch's own exporter."""

import importlib
import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.experiment.export.graph import Graph, standardized
from nses.rollouts.policies import standardization
from nses.rollouts.policies.pytorch import TorchPolicy

if TYPE_CHECKING:
    from onnx import ModelProto

PREFIX = "module_"  # of all names in the module, which must not be those of ours


def module_of(
    graph: Graph,
    policy: TorchPolicy,
    theta: NDArray[np.float32],
    moments: Moments,
    x: str,
    opset: int,
) -> str:
    """Adds the module, from flat observations to outputs."""
    mean, std = standardization(moments, policy.observation_size, policy.standardizes)
    x = graph.reshape(standardized(graph, x, mean, std), *policy.input_shape)
    inside = _exported(policy, theta, opset).graph
    names = {inside.input[0].name: x, "": ""}  # an empty name: an optional input that is not used
    for constant in inside.initializer:
        constant.name = PREFIX + constant.name
        graph.constants.append(constant)
    for node in inside.node:
        node.name = PREFIX + node.name
        for values in (node.input, node.output):
            values[:] = [names.get(name, PREFIX + name) for name in values]
        graph.nodes.append(node)
    return PREFIX + inside.output[0].name


def _exported(policy: TorchPolicy, theta: NDArray[np.float32], opset: int) -> "ModelProto":
    import onnx

    if policy.recurrent:
        raise UsageError(
            "a torch module with a state cannot be exported by nses, since the state may be "
            "anything; export run.family.bound(theta) with torch.onnx.export."
        )
    torch: Any = importlib.import_module("torch")
    module, file = policy.bound(theta), io.BytesIO()
    axes = {name: {0: "N"} for name in ("x", "y")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this exporter is the older one, which needs no extra
            torch.onnx.export(
                module,
                (torch.zeros(1, *policy.input_shape),),
                file,
                input_names=["x"],
                output_names=["y"],
                dynamic_axes=axes,
                opset_version=opset,
                dynamo=False,
            )
    except Exception as error:  # of any kind: it runs the module's code
        raise UsageError(f"torch cannot export this module to ONNX: {error}") from error
    return onnx.load_from_string(file.getvalue())
