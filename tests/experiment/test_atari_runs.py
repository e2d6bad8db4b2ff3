"""Runs that see pixels: a reference batch that stays with them, and the same bits everywhere."""

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import nses
from nses.cli import main
from nses.core.seeding import Purpose, episode_seeds
from nses.experiment.evaluate import evaluate
from nses.experiment.runs.run import REFERENCE
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.build import has_pixels, policy_of, reference_of
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import PAPER_GAMES, make_task
from tables import small_tables

_small_tables = pytest.fixture(scope="module", autouse=True)(small_tables)

ale_py = pytest.importorskip("ale_py", reason="needs the extra atari")

SMALL = {
    **{"recipe": "smoke", "algorithm": "nsr-es", "reference": 4, "tensorboard": False},
    **{"evaluation_episodes": 1, "retest_episodes": 1},
}


def train(game, path, **settings):
    settings = {**SMALL, "n": 4, "max_steps": 40, "generations": 2, **settings}
    return nses.train(f"atari:{game}", run_dir=str(path), **settings)


@pytest.fixture(scope="module")
def seaquest(tmp_path_factory):
    return train("seaquest", tmp_path_factory.mktemp("seaquest") / "run", backend="serial")


def test_a_run_keeps_its_reference_batch_and_gets_it_again_from_its_seed(seaquest):
    batch = seaquest.reference
    assert (batch.shape, batch.dtype) == ((4, 84, 84, 4), np.uint8)
    assert len({image.tobytes() for image in batch}) == 4
    np.testing.assert_array_equal(batch, reference_of(seaquest.config, seaquest.task()))
    other = nses.recipe("atari:seaquest", "smoke", "es")
    assert has_pixels(make_task("atari:seaquest").facts)
    with pytest.raises(ValueError, match="needs the reference batch"):
        policy_of(other, make_task("atari:seaquest").facts)
    assert nses.load(seaquest.path).policy().theta.size == 1_004_432 + 257 * 18


def test_a_policy_gets_in_gymnasium_what_evaluate_says(seaquest):
    tested, policy = evaluate(seaquest, episodes=1), seaquest.policy("best")
    environment = gym.make("NSES/Atari-v0", game="seaquest", max_episode_steps=40)
    seed = int(episode_seeds(0, 0, 0, Purpose.FRESH_EPISODES, 1)[0])
    observation, _ = environment.reset(seed=seed)
    total, trace, end = 0.0, [], False
    while not end:
        observation, reward, terminated, truncated, info = environment.step(policy(observation))
        total, end = total + float(reward), terminated or truncated
        trace.append(info["ram"])
    assert (total, len(trace)) == (tested.returns[0], tested.lengths[0])
    np.testing.assert_array_equal(trace, tested.behaviors)


def test_an_evaluation_of_all_starts_is_exact_and_sticky_actions_are_not(seaquest, capsys):
    exact = [evaluate(seaquest, episodes=n, seed=seed) for n, seed in ((30, 0), (31, 1))]
    assert exact[0].returns.tobytes() == exact[1].returns.tobytes()
    np.testing.assert_array_equal(exact[0].lengths, exact[1].lengths)
    assert all("so it is exact" in str(tested) for tested in exact)
    words = ["evaluate", str(seaquest.path), "--episodes", "1", "--json"]
    assert main([*words, "--environment", "noops=1"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["exact"], said["environment"]) == (True, ["noops=1"])
    assert said["returns"] == [exact[0].returns[0]]
    sticky = [evaluate(seaquest, episodes=1, seed=s, environment={"sticky": 0.25}) for s in (0, 1)]
    assert not any(tested.exact for tested in sticky)
    assert sticky[0].behaviors.tobytes() != sticky[1].behaviors.tobytes()


def test_the_best_policy_of_a_game_is_tested_with_sticky_actions_and_later_starts(seaquest):
    assert [*seaquest.variations] == ["sticky actions 0.25", "no-ops 31-60"]
    assert all(len(returns) == 1 for returns in seaquest.variations.values())
    assert (len(seaquest.starts), seaquest.exact) == (30, False)


def test_e7_a_trained_policy_acts_without_ale_py(seaquest):
    code = (
        "import sys; sys.modules['ale_py'] = None; import nses, numpy as np;"
        f"policy = nses.load({str(seaquest.path)!r}).policy('best');"
        "print(policy(np.zeros((84, 84, 4), np.uint8)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) == seaquest.policy("best")(np.zeros((84, 84, 4), np.uint8))


def test_s5_a_damaged_reference_batch_is_refused(tmp_path):
    run = train("freeway", tmp_path / "run", generations=1, backend="serial")
    file = run.path / REFERENCE
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(CheckpointRefused, match="reference"):
        run.policy("best")
    file.unlink()  # what is lost, random play finds again
    extended = nses.resume(run.path, generations=2)
    assert extended.digest == train("freeway", tmp_path / "whole", backend="serial").digest


def test_resumed_runs_end_like_those_that_were_not_interrupted(seaquest, tmp_path):
    train("seaquest", tmp_path / "run", generations=1, backend="serial")
    assert nses.resume(tmp_path / "run", generations=2).digest == seaquest.digest


FEW = {"network": "mlp", "hidden": (2,)}  # parameters, where the network does not matter


@pytest.mark.slow
@pytest.mark.parametrize(("game", "network"), [("freeway", {}), ("frostbite", FEW), ("qbert", FEW)])
def test_the_digest_is_the_same_for_any_number_of_workers(game, network, tmp_path):
    """Workers play different episodes before each one, and emulators must not remember them."""
    serial = train(game, tmp_path / "serial", max_steps=100, backend="serial", **network)
    two = train(game, tmp_path / "two", max_steps=100, workers=2, **network)
    assert two.digest == serial.digest
    assert two.variations == serial.variations


@pytest.mark.slow
@pytest.mark.parametrize("game", PAPER_GAMES)
def test_all_games_of_the_paper_run_and_render(game, tmp_path):
    run = train(game, tmp_path / "run", generations=1, backend="serial", **FEW)
    assert run.finished
    environment = gym.make("NSES/Atari-v0", game=game, render_mode="rgb_array")
    environment.reset(seed=0)
    assert environment.render().std() > 5


def test_recipes_are_those_of_the_paper():
    paper = recipe("atari:seaquest", "paper", "nsra-es")
    assert (paper.n, paper.members, paper.generations, paper.sigma) == (5000, 3, 200, 0.02)
    assert (paper.evaluation_episodes, paper.weight_patience, paper.k) == (30, 50, 10)
    assert recipe("atari:Beam_Rider", "paper", "es").generations == 150
    T = [recipe(f"atari:{game}", "paper", "es").generations for game in PAPER_GAMES]
    assert (min(T), max(T)) == (150, 300)
    assert recipe("atari:pong", "laptop", "es").members == 1
