import base64
import json
import shutil

import gymnasium as gym
import numpy as np
import pytest

import nses
from nses.experiment.runs.history import HISTORY, read_history
from nses.experiment.runs.replay import answer, play, rebuild
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.train import resume, train
from nses.rollouts.behaviors import parse_behavior
from tables import small_tables

_small_tables = pytest.fixture(small_tables)

RNG = np.random.default_rng(11)
SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


class Raising(gym.Env):
    """Fails when an action is large, which noise alone makes it."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        if abs(action[0]) > 0.99 and self.np_random.random() < 0.02:
            raise RuntimeError("too far")
        return np.zeros(2), float(action[0]), False, False, {}


VARIANTS = {
    "es": {"algorithm": "es"},
    "per member": {"algorithm": "nsra-es", "weight_per_member": True, "members": 3},
    "sgd": {"algorithm": "nsr-es", "optimizer": "sgd", "selection": "fresh"},
    "ordinal": {"algorithm": "ns-es", "ranks": "ordinal", "l2": 0.1},
    "in turn": {"algorithm": "nsr-es", "selection": "round-robin", "behavior_episodes": 5},
    "ever smaller": {"algorithm": "nsr-es", "half_life": 3, "l2": 0.1},
}


def lines_of(run):
    return (run.path / HISTORY).read_text().splitlines()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with observation moments, its states generation by generation, and no checkpoint
    between its first and its last."""
    states = {}
    run = train(
        "CartPole-v1", algorithm="nsra-es", seed=3, generations=25, behavior="final-observation:0",
        moments_probability=0.5, run_dir=tmp_path_factory.mktemp("run") / "r",
        listener=lambda state, record: states.__setitem__(state.generation, state), **SMALL,
    )  # fmt: skip
    return run, states


def test_ten_random_candidates_return_exactly_what_the_log_says(trained):
    run, _ = trained
    logged = {line.generation: line.f for line in read_history(run.path / HISTORY, 2, 16, 4, 25)}
    for _ in range(10):
        generation, candidate = int(RNG.integers(1, 26)), int(RNG.integers(16))
        past = rebuild(run, generation, candidate=candidate)
        (f,) = play(run, past).returns
        assert f == past.logged == logged[generation][candidate]


def test_every_member_of_every_generation_is_rebuilt_bit_for_bit(trained):
    run, states = trained
    for generation, state in states.items():
        for m, member in enumerate(state.members):
            past = rebuild(run, generation, member=m)
            assert past.theta.tobytes() == member.theta.tobytes()
            for a, b in zip(
                vars(past.moments).values(), vars(member.moments).values(), strict=False
            ):
                np.testing.assert_array_equal(a, b)


def test_the_updated_member_scores_again_what_it_scored(trained):
    run, _ = trained
    for record in run.metrics[::6]:
        past = rebuild(run, record["generation"])
        assert past.member == record["member"]
        assert play(run, past).score == past.logged == record["score"]


def test_a_member_that_was_not_updated_plays_the_episodes_after_its_last_update(trained):
    run, _ = trained
    updated = [record["member"] for record in run.metrics]
    generation = next(t for t in range(3, 26) if updated[t - 1] != updated[t - 2])
    other = updated[generation - 2]
    past = rebuild(run, generation, member=other)
    assert play(run, past).score == past.logged == run.metrics[generation - 2]["score"]


def test_e1_a_candidate_that_failed_fails_again_and_says_why(tmp_path):
    raising = nses.Task("raising", Raising, parse_behavior("final-observation"), 10)
    settings = SMALL | {"generations": 2, "n": 40, "action_noise": 0.5}
    run = train(raising, seed=0, run_dir=tmp_path / "r", **settings)
    failed = [
        (line.generation, int(i))
        for line in read_history(run.path / HISTORY, 2, 40, 2, 2)
        for i in np.flatnonzero(np.isnan(line.f))
    ]
    assert failed
    generation, candidate = failed[0]
    past = rebuild(run, generation, candidate=candidate)
    facts = answer(past, play(run, past, raising))
    assert (facts["return"], facts["logged"], facts["same bits"]) == (None, None, True)
    assert "too far" in facts["failed"]
    json.dumps(facts, allow_nan=False)


def test_a_policy_is_the_same_rebuilt_from_a_checkpoint_or_from_the_beginning(trained, tmp_path):
    run, states = trained
    shutil.copytree(run.path, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare" / "checkpoints")
    bare = nses.load(tmp_path / "bare")
    theta = rebuild(bare, 25, member=1).theta
    assert theta.tobytes() == states[25].members[1].theta.tobytes()
    dense = train(
        "CartPole-v1", algorithm="nsra-es", seed=3, generations=25, behavior="final-observation:0",
        moments_probability=0.5, run_dir=tmp_path / "dense", keep_every=4, **SMALL,
    )  # fmt: skip
    assert rebuild(dense, 22, member=1).theta.tobytes() == states[22].members[1].theta.tobytes()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_option_that_touches_the_update_is_replayed(name, tmp_path):
    states = {}
    run = train(
        "point-trap", seed=1, generations=12, run_dir=tmp_path / "r",
        listener=lambda state, record: states.__setitem__(state.generation, state),
        **SMALL, **VARIANTS[name],
    )  # fmt: skip
    for m, member in enumerate(states[11].members):
        assert rebuild(run, 11, member=m).theta.tobytes() == member.theta.tobytes()
    past = rebuild(run, 9, candidate=7)
    assert play(run, past).returns[0] == past.logged


def test_generations_of_different_numbers_of_candidates_are_replayed(tmp_path):
    states = {}
    run = train(
        "CartPole-v1", seed=1, generations=4, run_dir=tmp_path / "r", steps_per_generation=900,
        moments_probability=0.5,
        listener=lambda state, record: states.__setitem__(state.generation, state), **SMALL,
    )  # fmt: skip
    lines = {
        line.generation: line
        for line in read_history(run.path / HISTORY, 2, 16, 4, 4, or_more=True)
    }
    sizes = [len(line.f) for line in lines.values()]
    assert min(sizes) > 16
    assert len(set(sizes)) > 1
    for m, member in enumerate(states[4].members):
        assert rebuild(run, 4, member=m).theta.tobytes() == member.theta.tobytes()
    past = rebuild(run, 3, candidate=sizes[2] - 1)
    assert play(run, past).returns[0] == past.logged == lines[3].f[-1]
    with pytest.raises(ValueError, match=f"candidate must be from 0 to {sizes[2] - 1}"):
        rebuild(run, 3, candidate=sizes[2])
    unperturbed = (2 + 4) * 2  # of two members, and of four updates
    assert run.metrics[-1]["episodes"] == unperturbed + sum(sizes)


def test_a_shifted_training_reward_is_replayed(tmp_path):
    states = {}
    run = train(
        "CartPole-v1", seed=1, generations=3, run_dir=tmp_path / "r", training_reward=2.0,
        listener=lambda state, record: states.__setitem__(state.generation, state), **SMALL,
    )  # fmt: skip
    for record in run.metrics:  # a step is worth 1
        assert record["training_mean"] == pytest.approx(-record["return_mean"])
    for m, member in enumerate(states[3].members):
        assert rebuild(run, 3, member=m).theta.tobytes() == member.theta.tobytes()
    past = rebuild(run, 2, candidate=5)
    assert play(run, past).returns[0] == past.logged > 0


@pytest.mark.parametrize("length", ["missing", -1.0, float("nan")])
def test_a_length_that_cannot_be_is_refused(length, trained, tmp_path):
    shutil.copytree(trained[0].path, tmp_path / "r")
    line = json.loads(lines_of(nses.load(tmp_path / "r"))[0])
    del line["sha256"]
    if length != "missing":
        line["lengths"] = base64.b64encode(np.full(16, length).tobytes()).decode()
    (tmp_path / "r" / HISTORY).write_text(json.dumps(line) + "\n")
    with pytest.raises(CheckpointRefused, match=r"generation 1 in .* is damaged: .*length"):
        list(read_history(tmp_path / "r" / HISTORY, 2, 16, 4, 1, lengths=True))


def test_a_run_that_was_extended_has_one_line_a_generation(tmp_path):
    run = train("point-trap", seed=2, generations=6, run_dir=tmp_path / "r", **SMALL)
    with (run.path / HISTORY).open("a") as file:  # written after the last checkpoint, then torn
        file.write('{"generation": 7, "member": 0}\n{"gener')
    run = resume(run.path, generations=10)
    generations = [json.loads(line)["generation"] for line in lines_of(run)]
    assert generations == list(range(1, 11))
    past = rebuild(run, 8, candidate=3)
    assert play(run, past).returns[0] == past.logged


def test_generation_0_is_the_first_members(trained):
    run, _ = trained
    first, second = (rebuild(run, 0, member=m) for m in (0, 1))
    assert (first.theta != second.theta).any()
    assert play(run, first).lengths.min() > 0


def test_a_policy_of_the_past_acts_and_is_evaluated_like_any_other(trained):
    run, states = trained
    policy = run.policy("generation:10:member:0")
    assert policy.theta.tobytes() == states[10].members[0].theta.tobytes()
    assert policy(np.zeros(4)) in (0, 1)
    tested = nses.evaluate(run, "generation:10:candidate:3", episodes=2)
    assert len(tested.returns) == 2


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("generation:99", "has no generation 99; its last one is 25"),
        ("generation:3:candidate:16", "candidate must be from 0 to 15"),
        ("generation:0:candidate:1", "counted from 1"),
        ("generation:3:member:9", "member must be from 0 to 1"),
        ("generation:x", "generation:G:candidate:I"),
        ("generation", "generation:G:candidate:I"),
        ("generation:3:member", "generation:G:candidate:I"),
        ("generation:3:cat:1", "generation:G:candidate:I"),
        ("worst", "policy must be best, final"),
    ],
)
def test_asking_for_what_does_not_exist_is_explained(trained, which, message):
    with pytest.raises(ValueError, match=message):
        trained[0].policy(which)


def test_s2_a_gap_in_the_history_is_named_and_a_checkpoint_after_it_helps(trained, tmp_path):
    shutil.copytree(trained[0].path, tmp_path / "r")
    run = nses.load(tmp_path / "r")
    lines = lines_of(run)
    (run.path / HISTORY).write_text("\n".join([*lines[:4], '{"gap": [5, 5]}', *lines[5:]]) + "\n")
    with pytest.raises(CheckpointRefused, match="history of generation 5 is missing"):
        rebuild(run, 9)
    with pytest.raises(ValueError, match="disk was full then"):
        rebuild(run, 5)
    assert rebuild(run, 25).theta.tobytes() == rebuild(trained[0], 25).theta.tobytes()


@pytest.mark.parametrize("field", ["f", "N", "sum"])
def test_s5_a_damaged_line_is_refused_by_name(trained, tmp_path, field):
    shutil.copytree(trained[0].path, tmp_path / "r")
    run = nses.load(tmp_path / "r")
    lines = lines_of(run)
    number = next(i for i, line in enumerate(lines) if f'"{field}"' in line)
    record = json.loads(lines[number])
    record[field] = record[field][:-8]
    lines[number] = json.dumps(record)
    (run.path / HISTORY).write_text("\n".join(lines) + "\n")
    with pytest.raises(CheckpointRefused, match=f"generation {number + 1} in .* is damaged"):
        rebuild(run, 25)


@pytest.mark.parametrize(
    ("before", "after"), [('"member": 0', '"member": 1'), ('"f": "', '"f": "BBBB')]
)
def test_s5_one_changed_letter_of_a_line_that_can_still_be_read_is_noticed(
    trained, tmp_path, before, after
):
    run, _ = trained
    shutil.copytree(run.path, tmp_path / "r")
    lines = lines_of(run)
    at = next(i for i, line in enumerate(lines) if before in line)
    start, line = lines[at].index(before), lines[at]
    lines[at] = line[:start] + after + line[start + len(after) :]  # as long as it was
    (tmp_path / "r" / HISTORY).write_text("\n".join(lines) + "\n")
    with pytest.raises(CheckpointRefused, match=f"generation {at + 1} .* is damaged"):
        nses.load(tmp_path / "r").policy(f"generation:{at + 1}")


def test_m8_the_checkpoint_of_another_policy_is_refused(trained, tmp_path):
    shutil.copytree(trained[0].path, tmp_path / "r")
    document = json.loads((tmp_path / "r" / "config.json").read_text())
    document["config"]["hidden"] = [3]
    (tmp_path / "r" / "config.json").write_text(json.dumps(document))
    with pytest.raises(CheckpointRefused, match="of another policy than its run"):
        rebuild(nses.load(tmp_path / "r"), 25)


@pytest.mark.parametrize("generation", [1, 25])
def test_a_changed_setting_in_config_json_is_refused_at_any_generation(
    trained, tmp_path, generation
):
    shutil.copytree(trained[0].path, tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / "checkpoints" / "000000", ignore_errors=True)
    document = json.loads((tmp_path / "r" / "config.json").read_text())
    document["config"]["lr"] = 0.7
    (tmp_path / "r" / "config.json").write_text(json.dumps(document))
    with pytest.raises(CheckpointRefused, match=r"disagree:\n  lr: 0.7 in config.json, "):
        rebuild(nses.load(tmp_path / "r"), generation)


def test_a_line_of_an_older_run_has_no_checksum_and_is_read(trained, tmp_path):
    run, _ = trained
    shutil.copytree(run.path, tmp_path / "r")
    records = [json.loads(line) for line in lines_of(run)]
    older = [{k: v for k, v in record.items() if k != "sha256"} for record in records]
    (tmp_path / "r" / HISTORY).write_text("".join(json.dumps(r) + "\n" for r in older))
    past, present = (nses.load(p).policy("generation:9") for p in (tmp_path / "r", run.path))
    assert np.array_equal(past.theta, present.theta)


def test_s5_a_damaged_line_does_not_hinder_what_came_before_it(trained, tmp_path):
    shutil.copytree(trained[0].path, tmp_path / "r")
    run = nses.load(tmp_path / "r")
    lines = lines_of(run)
    lines[9] = json.dumps(json.loads(lines[9]) | {"member": 9})
    (run.path / HISTORY).write_text("\n".join(lines) + "\n")
    assert rebuild(run, 9).theta.tobytes() == rebuild(trained[0], 9).theta.tobytes()
    with pytest.raises(CheckpointRefused, match="no member 9"):
        rebuild(run, 10)


def test_a_run_without_a_history_says_so(trained, tmp_path):
    shutil.copytree(trained[0].path, tmp_path / "r")
    (tmp_path / "r" / HISTORY).unlink()
    with pytest.raises(ValueError, match="an older nses made the run"):
        rebuild(nses.load(tmp_path / "r"), 5)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_tables")
@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("swimmer-trap", {"generations": 6, "moments_probability": 0.5}),
        ("atari:freeway", {"generations": 2, "n": 6, "max_steps": 60, "reference": 4}),
    ],
)
def test_compiled_episodes_of_bodies_and_games_are_replayed_to_the_bit(task, settings, tmp_path):
    run = train(task, seed=4, run_dir=tmp_path / "r", **(SMALL | settings))
    last = settings["generations"]
    past = rebuild(run, last, candidate=int(RNG.integers(6)))
    assert play(run, past).returns[0] == past.logged
    past = rebuild(run, last - 1)
    assert play(run, past).score == past.logged
