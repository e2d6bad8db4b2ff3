"""ONNX files: they act as the policies do, wherever onnxruntime runs; and their cards."""

import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import nses
from exported import train
from nses.cli import main
from nses.experiment.export import onnx as module
from nses.experiment.export.model_card import model_card
from nses.experiment.export.onnx import (
    TOLERANCE,
    difference,
    export,
    feed_of,
    model_of,
    played_observations,
    random_observations,
)
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policies.gru import GRU
from nses.rollouts.policies.mlp import MLP
from tables import small_tables

_small_tables = pytest.fixture(small_tables)

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")


def session_of(run, which="best"):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = model_of(run, which).SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def actions_of(run, observations, which="best"):
    """Of the ONNX file and of the policy."""
    feed, policy = feed_of(run.facts.observation_space, observations), run.policy(which)
    (actions,) = session_of(run, which).run(["action"], feed)
    return actions, np.array([policy(o) for o in observations])


@pytest.mark.parametrize("which", ["best", "final", "member:1"])
def test_continuous_actions_are_those_of_the_policy(run, which):
    theirs, ours = actions_of(run, random_observations(run, 1000), which)
    assert (theirs.dtype, theirs.shape) == (np.float32, (1000, 2))
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-5)
    assert (np.abs(ours) < 1).any()


def test_choices_are_those_of_the_policy(tmp_path):
    run = train("CartPole-v1", tmp_path, max_steps=50)
    theirs, ours = actions_of(run, random_observations(run, 1000))
    assert theirs.dtype == np.int64
    np.testing.assert_array_equal(theirs, ours)
    assert set(ours.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("activation", "hidden", "normalize"),
    [("tanh", (), True), ("relu", (7,), True), ("relu", (20, 9, 3), False)],
)
def test_every_kind_of_mlp_is_exported(activation, hidden, normalize, tmp_path):
    settings = {"activation": activation, "hidden": hidden, "normalize": normalize}
    run = train("point-trap", tmp_path, generations=2, **settings)
    assert export(run).difference <= 1e-6


def test_inputs_are_normalized_in_double_and_clipped(run):
    """A large mean beside a small deviation: float32 would lose all of it."""
    theta, moments = run.parameters()
    far = replace(moments, sum=moments.count * 1e6 + moments.sum, square=moments.square)
    far = replace(far, square=far.count * (far.mean**2 + 1.0))
    moved = type(run)(run.path, run.config, run.facts, run.versions)
    object.__setattr__(moved, "parameters", lambda which: (theta, far))
    observations = [1e6 + 3 * np.random.default_rng(i).standard_normal(6) for i in range(100)]
    content = model_of(moved).SerializeToString()
    largest = difference(moved, "best", content, [*observations, np.zeros(6), np.full(6, 1e30)])
    assert largest <= 1e-6


class Strange(gym.Env):
    """Observations and actions of the kinds that the other tasks do not have."""

    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.observation_space.sample(), float(np.sum(action)), False, False, {}


class Hands(Strange):
    """Pays for a part of its action."""

    def step(self, action):
        assert self.action_space.contains(action)
        return self.observation_space.sample(), float(np.sum(action["turn"])), False, False, {}


LOW, HIGH = np.array([[-1.0, -np.inf, 50.0], [1.0, np.inf, 70.0]], np.float32)
BOX = spaces.Box(LOW, HIGH)
CHOICE = spaces.Discrete(3, start=5)
NUMBERS = spaces.Box(np.array([[-0.01, -np.inf]]), np.array([[0.01, 0.02]]), dtype=np.float64)
KINDS = {
    "choice to numbers": (spaces.Discrete(4, start=-2), NUMBERS),
    "digits to choice": (spaces.MultiDiscrete([[2, 3], [4, 2]]), CHOICE),
    "bits": (spaces.MultiBinary([2, 3]), spaces.MultiBinary([2, 2])),
    "whole numbers": (spaces.Box(0, 900, (3,), np.int64), spaces.MultiDiscrete([[2], [3]])),
    "image": (spaces.Box(0, 255, (5, 4, 3), np.uint8), CHOICE),
    "scalar": (spaces.Box(-2.0, 2.0, (), np.float32), CHOICE),
    "halves": (BOX, spaces.Box(np.float16(-1), np.float16(1), (2,), np.float16)),
    "parts": (
        spaces.Dict({"b": BOX, "a": spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)])}),
        NUMBERS,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_space_that_can_be_learned_in_can_be_exported(kind, tmp_path):
    task = nses.Task(
        kind, lambda: Strange(*KINDS[kind]), nses.make_task("CartPole-v1").behavior, step_limit=20
    )
    run = train(task, tmp_path, generations=2)
    observations = random_observations(run, 300)
    assert all(run.facts.observation_space.contains(o) for o in observations)
    theirs, ours = actions_of(run, observations)
    assert theirs.dtype == run.facts.action_space.dtype
    assert theirs.shape == (300, *run.facts.action_space.shape)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-3 if kind == "halves" else 1e-5)
    assert export(run).observations == 200 + 20
    alone = nses.load(run.path)  # without its task: random observations only
    assert export(alone).observations == 200
    assert not played_observations(alone, alone.policy(), 9)


def test_a_dictionary_has_an_input_for_each_of_its_parts(tmp_path):
    task = nses.Task(
        "parts", lambda: Strange(*KINDS["parts"]), nses.make_task("CartPole-v1").behavior, 20
    )
    run = train(task, tmp_path, generations=1)
    inputs = {x.name: (x.type, x.shape) for x in session_of(run).get_inputs()}
    assert inputs == {
        "observation.a.0": ("tensor(float)", ["N"]),
        "observation.a.1": ("tensor(float)", ["N", 2]),
        "observation.b": ("tensor(float)", ["N", 3]),
    }
    card = model_card(run, "best", 0.0, 1)
    assert "\"observation.a.0\": np.array([observation['a'][0]], np.float32)" in card
    assert "no command repeats it" in card


def test_a_compound_action_has_an_output_for_each_of_its_parts(tmp_path):
    space = spaces.Dict({"turn": NUMBERS, "hand": spaces.Tuple([CHOICE, spaces.MultiBinary(2)])})
    task = nses.Task(
        "hands", lambda: Hands(BOX, space), nses.make_task("CartPole-v1").behavior, step_limit=20
    )
    run = train(task, tmp_path, generations=1)
    assert export(run).observations == 200 + 20
    outputs = [(x.name, x.type, x.shape) for x in session_of(run).get_outputs()]
    assert outputs == [
        ("action.hand.0", "tensor(int64)", ["N"]),
        ("action.hand.1", "tensor(int8)", ["N", 2]),
        ("action.turn", "tensor(double)", ["N", 1, 2]),
        ("output", "tensor(float)", ["N", 7]),
    ]
    assert "an array for each part of the action" in model_card(run, "best", 0.0, 1)


def test_the_command_writes_both_files_and_says_how_exact_they_are(run, tmp_path, capsys):
    assert (
        main(["export", str(run.path), "--policy", "final", "--output", str(tmp_path / "a")]) == 0
    )
    said = capsys.readouterr().out
    assert f"policy         {tmp_path}/a/policy.onnx (final)" in said
    assert "in 400 observations (onnxruntime)" in said
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["MODEL_CARD.md", "policy.onnx"]


def test_the_file_says_where_it_comes_from(run):
    model = onnx.load(export(run).model)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    expected = {"task": "point-trap", "algorithm": "nsra-es", "seed": "1", "policy": "best"}
    assert facts == {**expected, "recipe": "smoke", "nses": nses.__version__}
    assert (model.producer_name, model.producer_version) == ("nses", nses.__version__)


@pytest.mark.parametrize(("part", "value"), [("output", 2e-5), ("action", 0.1), ("output", np.nan)])
def test_a_file_that_acts_differently_is_refused_and_not_written(
    part, value, run, tmp_path, monkeypatch
):
    def wrong(run, which):
        model = model_of(run, which)
        for node in model.graph.node:
            node.output[:] = [f"right_{part}" if x == part else x for x in node.output]
            node.input[:] = [f"right_{part}" if x == part else x for x in node.input]
        graph = model.graph
        graph.initializer.append(onnx.numpy_helper.from_array(np.float32(value), "wrong"))
        graph.node.append(onnx.helper.make_node("Add", [f"right_{part}", "wrong"], [part]))
        return model

    monkeypatch.setattr(module, "model_of", wrong)
    with pytest.raises(ValueError, match="does not act like the policy"):
        export(run, directory=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_without_the_extra_the_message_names_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ValueError, match=r"pip install 'nses\[onnx\]'"):
        export(run)


def test_an_unknown_policy_is_refused(run):
    with pytest.raises(ValueError, match="policy must be best"):
        export(run, "worst")


@pytest.mark.parametrize(("task", "hidden"), [("point", (3,)), ("CartPole-v1", (4, 5, 3))])
def test_a_gru_has_its_state_as_input_and_output(task, hidden, tmp_path):
    run = train(task, tmp_path, network="gru", hidden=hidden, max_steps=20, generations=1)
    exported = export(run, checked=50)
    assert exported.difference < TOLERANCE[GRU]
    session, policy, units = session_of(run), run.policy(), hidden[-1]
    state = np.zeros((1, units), np.float32)
    for observation in random_observations(run, 20):
        feed = feed_of(run.facts.observation_space, [observation]) | {"state": state}
        action, state = session.run(["action", "next_state"], feed)
        np.testing.assert_allclose(action[0], policy(observation), atol=1e-5)
    card = exported.card.read_text()
    assert f"state = np.zeros((1, {units}), np.float32)" in card
    assert "a gated recurrent unit" in card


def test_a_gru_whose_file_loses_its_memory_is_refused(tmp_path, monkeypatch):
    def forgets(graph, policy, theta, moments, x, state):
        lost = graph.add("Mul", state, np.zeros(1, np.float32))
        return gru_of(graph, policy, theta, moments, x, lost)

    gru_of = module.gru_of
    monkeypatch.setattr(module, "gru_of", forgets)
    run = train("point", tmp_path, network="gru", hidden=(3,), max_steps=20, generations=1)
    with pytest.raises(ValueError, match="does not act like the policy"):
        export(run)


def test_a_network_of_ones_own_is_refused_by_name(tmp_path):
    run = train("point", tmp_path, policy_class="networks:Echo", max_steps=20, generations=1)
    with pytest.raises(ValueError, match="policy of your own, networks:Echo"):
        export(run)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_tables")
def test_a_policy_that_sees_pixels_acts_the_same(tmp_path):
    pytest.importorskip("ale_py")
    settings = {"n": 4, "generations": 1, "max_steps": 60, "reference": 16}
    run = train("atari:freeway", tmp_path, **settings)
    policy = run.policy()
    environment, observations = run.task().make(), random_observations(run, 150)
    environment.reset(seed=2)
    environment.action_space.seed(2)
    while len(observations) < 300:
        observations.append(environment.step(environment.action_space.sample())[0])
    feed = feed_of(run.facts.observation_space, observations)
    actions, outputs = session_of(run).run(["action", "output"], feed)
    ours = np.array([policy(o) for o in observations])
    np.testing.assert_array_equal(actions, ours)
    assert len(set(ours.tolist())) > 1
    assert outputs.shape == (300, 3)
    exported = export(run, directory=tmp_path)
    assert exported.difference <= TOLERANCE[Conv]
    assert TOLERANCE[MLP] == 1e-5
    assert exported.observations == 200 + 60
    (shape,) = (x.shape for x in session_of(run).get_inputs())
    assert shape == ["N", 84, 84, 4]
