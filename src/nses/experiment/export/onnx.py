"""A trained policy as an ONNX file, which programs in any language can run without nses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.experiment.export.graph import (
    ACTION,
    INPUT,
    OUTPUT,
    Graph,
    actions_of,
    conv_of,
    flat_of,
    mlp_of,
)
from nses.experiment.export.model_card import MODEL_CARD, model_card
from nses.experiment.runs.run import Run, TrainedPolicy
from nses.experiment.runs.storage import storing, write_atomically
from nses.extras import needing
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.spaces import input_of, leaves, output_of

if TYPE_CHECKING:
    from onnx import ModelProto

FILE = "policy.onnx"
OPSET, IR = 17, 8  # every onnxruntime since 1.13 reads these
# Of outputs, relative to the largest output of an observation if that is above 1. The network for
# pixels itself is 2.5e-5 from exact arithmetic, because batch norm amplifies float32 rounding;
# onnxruntime adds in another order and is up to 5e-5 from our network.
TOLERANCE = {MLP: 1e-5, Conv: 2e-4}
CHECKED = 200  # random observations, and as many from an episode
WIDE = 10.0  # random observations stay within ±10 unless a space has narrower bounds

Feed = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Exported:
    """Where the files are, and how far the ONNX file's outputs are from the policy's."""

    model: Path
    card: Path
    difference: float
    observations: int


def feed_of(space: Any, observations: Sequence[Any]) -> Feed:
    """Observations as the inputs of the file: float32, whatever the type of the space."""
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite
        return {
            leaf.name: np.array([leaf.of(o) for o in observations]).astype(np.float32)
            for leaf in leaves(space, INPUT)
        }


def model_of(run: Run, which: str = "best") -> "ModelProto":
    """The graph from an observation in the run's space to `action` and the raw `output`."""
    import onnx
    from onnx import helper

    from nses import __version__

    theta, moments = run.parameters(which)
    policy = run.family
    graph = Graph()
    if isinstance(policy, Conv):
        y = conv_of(graph, policy, theta, graph.input(INPUT, policy.image.shape))
    elif not isinstance(policy, MLP):
        raise UsageError(
            f"only the built-in networks can be exported to ONNX, but {run.path} has a policy of "
            f"your own, {run.own_policy}."
        )
    else:
        mean, std = policy.standardization(moments)
        y = mlp_of(graph, policy, theta, mean, std, flat_of(graph, run.facts.observation_space))
    graph.add("Identity", y, name=OUTPUT)
    size = output_of(run.facts.action_space).size
    outputs = [
        *actions_of(graph, run.facts.action_space),
        helper.make_tensor_value_info(OUTPUT, onnx.TensorProto.FLOAT, ["N", size]),
    ]
    whole = helper.make_graph(graph.nodes, "policy", graph.inputs, outputs, graph.constants)
    model = helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="nses",
        producer_version=__version__,
    )
    config = run.config
    facts = {"task": config.task, "algorithm": config.algorithm, "seed": config.seed}
    facts |= {"policy": which, "recipe": config.recipe, "nses": __version__}
    helper.set_model_props(model, {name: str(value) for name, value in facts.items()})
    onnx.checker.check_model(model, full_check=True)
    return model


def random_observations(run: Run, count: int) -> list[Any]:
    """Random observations in the space of a run, within ±10 where its bounds are wider."""
    rng = generator(run.config.seed, 0, 0, Purpose.FRESH_EPISODES)
    space = _tame(run.facts.observation_space)
    space.seed(int(rng.integers(1 << 31)))
    return [space.sample() for _ in range(count)]


def _tame(space: Any) -> Any:
    match space:
        case spaces.Dict():
            return spaces.Dict({name: _tame(part) for name, part in space.spaces.items()})
        case spaces.Tuple():
            return spaces.Tuple([_tame(part) for part in space.spaces])
        case spaces.Box() if np.issubdtype(space.dtype, np.floating):
            low, high = (
                np.asarray(np.clip(x, space.low, space.high), space.dtype) for x in (-WIDE, WIDE)
            )
            return spaces.Box(low, high, space.shape, np.dtype(space.dtype).type)
    return space


def played_observations(run: Run, policy: TrainedPolicy, count: int) -> list[Any]:
    """The first observations of a fresh episode; none if the task cannot be made here."""
    try:
        task = run.task()
        environment = task.make()
    except ValueError:
        return []
    try:
        observation, _ = environment.reset(seed=0)
        seen, end = [observation], False
        while len(seen) < min(count, task.step_limit) and not end:
            observation, _, terminated, truncated, _ = environment.step(policy(observation))
            seen.append(observation)
            end = terminated or truncated
        return seen
    finally:
        environment.close()


def difference(run: Run, which: str, model: bytes, observations: Sequence[Any]) -> float:
    """The largest difference between outputs of the file and the policy; UsageError if too large.

    Actions that are numbers must agree too. A discrete action may differ only in a close choice.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    parts = leaves(run.facts.action_space, ACTION)
    feed = feed_of(run.facts.observation_space, observations)
    answer = session.run([*(leaf.name for leaf in parts), OUTPUT], feed)
    *actions, outputs = (np.asarray(x) for x in answer)
    policy = run.policy(which)
    flatten = input_of(run.facts.observation_space).flatten
    network = run.family
    respond, allowed = network.bind(policy.theta, policy.moments), TOLERANCE[type(network)]
    largest = 0.0
    sizes = [output_of(leaf.space).size for leaf in parts]
    for o, y, *action in zip(observations, outputs, *actions, strict=True):
        with np.errstate(over="ignore"):
            expected = respond(flatten(o).astype(np.float32).astype(np.float64))  # as in the feed
        scale = max(1.0, float(np.abs(expected).max()))
        off = float(np.abs(y - expected).max()) / scale
        largest = max(largest, off)
        groups = np.split(expected, np.cumsum(sizes)[:-1])
        wrong = max(
            _wrong(leaf.space, group, np.asarray(a), scale)
            for leaf, group, a in zip(parts, groups, action, strict=True)
        )
        if not (off <= allowed and wrong <= allowed):  # NaN fails this too
            raise UsageError(
                f"the ONNX file does not act like the policy: its outputs differ by {off:.2g}, "
                f"its actions by {wrong:.2g}, where at most {allowed:g} is allowed; it was not "
                "written. Please report this, with the versions of onnx and onnxruntime."
            )
    return largest


def _wrong(space: Any, y: NDArray[np.float32], action: NDArray[Any], scale: float) -> float:
    """How far an action is from the one that the output y asks for, relative to the scale.

    For choices, how much smaller the entry of y is that was chosen.
    """
    match space:
        case spaces.Discrete():
            return float(y.max() - y[int(action) - int(space.start)]) / scale
        case spaces.MultiBinary():
            differs = action.reshape(-1) != (y > 0)
            return float(np.abs(y[differs]).max(initial=0.0)) / scale
        case spaces.MultiDiscrete():
            groups = np.split(y, np.cumsum(space.nvec.reshape(-1))[:-1])
            chosen = (action - space.start).reshape(-1)
            return max(float(g.max() - g[i]) for g, i in zip(groups, chosen, strict=True)) / scale
    apart = np.abs(action.astype(np.float64) - output_of(space).act(y)).max()
    return float(apart) / scale - float(np.finfo(action.dtype).eps)  # two roundings may differ


def export(
    run: Run, which: str = "best", directory: str | Path | None = None, checked: int = CHECKED
) -> Exported:
    """Write policy.onnx and MODEL_CARD.md, after checking that the first acts like the policy."""
    with needing("onnx", "an ONNX file"):
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    policy = run.policy(which)
    observations = random_observations(run, checked) + played_observations(run, policy, checked)
    model = model_of(run, which).SerializeToString()
    largest = difference(run, which, model, observations)
    place = run.path if directory is None else Path(directory)
    with storing(place):
        place.mkdir(parents=True, exist_ok=True)
    card = model_card(run, which, largest, len(observations))
    write_atomically(place / FILE, model)
    write_atomically(place / MODEL_CARD, card.encode())
    return Exported(place / FILE, place / MODEL_CARD, largest, len(observations))
