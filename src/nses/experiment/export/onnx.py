"""A trained policy as an ONNX file, which programs in any language can run without nses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.experiment.export.graph import (
    ACTION,
    INPUT,
    NEXT_STATE,
    OUTPUT,
    STATE,
    Graph,
    actions_of,
    conv_of,
    flat_of,
    gru_of,
    mlp_of,
)
from nses.experiment.export.model_card import MODEL_CARD, model_card
from nses.experiment.export.modules import module_of
from nses.experiment.runs.run import Run, TrainedPolicy
from nses.experiment.runs.storage import storing, write_atomically
from nses.extras import needing
from nses.rollouts.policies import Policy
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policies.gru import GRU
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policies.pytorch import TorchPolicy
from nses.rollouts.spaces import input_of, leaves, output_of

if TYPE_CHECKING:
    from onnx import ModelProto

FILE = "policy.onnx"
OPSET, IR = 17, 8  # every onnxruntime since 1.13 reads these
# Of outputs, relative to the largest output of an observation if that is above 1. The network for
# pixels itself is 2.5e-5 from exact arithmetic, because batch norm amplifies float32 rounding;
# onnxruntime adds in another order and is up to 5e-5 from our network.
TOLERANCE = {MLP: 1e-5, GRU: 1e-5, Conv: 2e-4, TorchPolicy: 1e-4}
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
    graph.add("Identity", _add_network(graph, run, policy, theta, moments), name=OUTPUT)
    size = output_of(run.facts.action_space).size
    outputs = [
        *actions_of(graph, run.facts.action_space),
        helper.make_tensor_value_info(OUTPUT, onnx.TensorProto.FLOAT, ["N", size]),
    ]
    if isinstance(policy, GRU):
        shape = ["N", policy.units]
        outputs.append(helper.make_tensor_value_info(NEXT_STATE, onnx.TensorProto.FLOAT, shape))
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


def _add_network(
    graph: Graph, run: Run, policy: Policy, theta: NDArray[np.float32], moments: Moments
) -> str:
    """Adds the network, from the inputs of the file to outputs."""
    space = run.facts.observation_space
    match policy:
        case Conv():
            return conv_of(graph, policy, theta, graph.input(INPUT, policy.image.shape))
        case MLP():
            mean, std = policy.standardization(moments)
            return mlp_of(graph, policy, theta, mean, std, flat_of(graph, space))
        case GRU():
            state = graph.input(STATE, (policy.units,))
            return gru_of(graph, policy, theta, moments, flat_of(graph, space), state)
        case TorchPolicy():
            return module_of(graph, policy, theta, moments, flat_of(graph, space), OPSET)
    raise UsageError(
        f"only the built-in networks and torch modules can be exported to ONNX, but {run.path} has "
        f"a policy of your own, {run.own_policy or run.config.policy_class}."
    )


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
    network, flatten = run.family, input_of(run.facts.observation_space).flatten
    with np.errstate(over="ignore"):
        X = [flatten(o).astype(np.float32).astype(np.float64) for o in observations]  # as fed
    states, responses = _responses(run.policy(which), network, X)
    feed = feed_of(run.facts.observation_space, observations)
    wanted = [*(leaf.name for leaf in parts), OUTPUT]
    if states.size:
        feed[STATE], wanted = states, [*wanted, NEXT_STATE]
    answer = [np.asarray(x) for x in _run(session, wanted, feed)]
    actions, numbers = answer[: len(parts)], np.concatenate(answer[len(parts) :], axis=1)
    allowed, largest = TOLERANCE[type(network)], 0.0
    ends = np.cumsum([output_of(leaf.space).size for leaf in parts])  # the rest is the state
    for y, expected, *action in zip(numbers, responses, *actions, strict=True):
        scale = max(1.0, float(np.abs(expected).max()))
        off = float(np.abs(y - expected).max()) / scale
        largest = max(largest, off)
        wrong = max(
            _wrong(leaf.space, group, np.asarray(a), scale)
            for leaf, group, a in zip(parts, np.split(expected, ends), action, strict=False)
        )
        if not (off <= allowed and wrong <= allowed):  # NaN fails this too
            raise UsageError(
                f"the ONNX file does not act like the policy: its outputs differ by {off:.2g}, "
                f"its actions by {wrong:.2g}, where at most {allowed:g} is allowed; it was not "
                "written. Please report this, with the versions of onnx and onnxruntime."
            )
    return largest


def _run(session: Any, wanted: list[str], feed: Feed) -> list[Any]:
    try:
        return session.run(wanted, feed)
    except Exception as error:  # onnxruntime has its own kinds
        raise UsageError(f"onnxruntime cannot run this policy: {error}") from error


def _responses(
    policy: TrainedPolicy, network: Policy, X: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """For observations one after the other, the state before each, and the output and state after.

    Without a state, these have no columns. The file is asked to go on from each of our states, or
    differences would add up.
    """
    theta, moments = policy.theta, policy.moments
    if isinstance(network, GRU):
        state = np.zeros(network.units, np.float32)
        respond = network.bind_state(theta, moments, state)
    else:
        state, respond = np.zeros(0, np.float32), network.bind(theta, moments)
    rows = [(state.copy(), np.concatenate([respond(x), state])) for x in X]
    return np.array([before for before, _ in rows]), np.array([after for _, after in rows])


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
    run = run.trusted()
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
