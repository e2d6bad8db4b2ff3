"""Every diagnosis is provoked by its trouble, and a healthy run provokes none."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nses
from commands import PLAIN, call
from nses.core.moments import Moments, initial
from nses.experiment.analysis.diagnosis import DIAGNOSES, Case, case_of, odd_observations, sentences
from nses.experiment.analysis.stories import story_of
from nses.experiment.settings.config import Config, changed
from nses.experiment.settings.recipes import GENERAL, recipe
from nses.experiment.showing.report import write_run_report
from nses.rollouts.tasks.catalog import PAPER_GAMES, SHIPPED

T = 150


def observed(rows):
    return initial(rows.shape[1]).merge(
        Moments(float(len(rows)), rows.sum(axis=0), (rows**2).sum(axis=0))
    )


def healthy(algorithm="nsra-es", **settings):
    """Scores rise, behaviors spread, the weight moves, observations vary."""
    t = np.arange(1.0, T + 1)
    config = Config(task="CartPole-v1", algorithm=algorithm, generations=T, members=3)
    spread = np.linspace(0.1, 1.0, 3 + T)[:, None] * [np.cos(1.0), np.sin(1.0)]
    return Case(
        config=changed(config, settings),
        score=t,
        return_mean=t - 1,
        return_best=t + 1,
        weight=np.maximum(0.3, 1 - t / 100),
        gradient=np.full(T, 10.0),
        steps=37.0,
        found=T,
        solved=False,
        behaviors=spread,
        theta=5.0,
        moments=observed(np.random.default_rng(0).standard_normal((2000, 4))),
        bound=4.8,
    )


def test_a_healthy_run_is_not_diagnosed():
    for algorithm in nses.ALGORITHMS:
        members = {"members": 1} if algorithm == "es" else {}
        assert sentences(healthy(algorithm, **members)) == []


ONES = np.ones(T)
TROUBLES = {
    "Reward made no difference: every return was 1, so novelty is all there is to follow. "
    "Look at --behavior": lambda x: replace(
        x, score=ONES, return_mean=ONES, return_best=ONES, found=0
    ),
    "has not grown outwards since generation 20: .* Try another --behavior": lambda x: replace(
        x, behaviors=np.tile(x.behaviors[:9], (17, 1))
    ),
    "All behaviors were the same": lambda x: replace(x, behaviors=np.ones((3 + T, 2))),
    r"w never left 1, so this was almost plain ES, .* for 60 generations. Try --weight-patience 7 "
    r"\(it was 50\)": lambda x: replace(x, weight=ONES, found=T - 60),
    r"best policy dates from generation 3 of 150: .* Try --n 200, or a smaller --lr": lambda x: (
        replace(x, found=3)
    ),
    r"cut off after 37 steps. .* try --max-steps 74": lambda x: replace(
        x, config=replace(x.config, max_steps=37)
    ),
    "decay is 12 times as strong as the gradient, .* Try --l2 0.0005": lambda x: replace(
        x, gradient=np.full(T, 0.1)
    ),
    "3 of the 4 numbers in an observation never changed": lambda x: replace(
        x, moments=observed(np.random.default_rng(0).standard_normal((2000, 4)) * [0, 0, 1, 0] + 7)
    ),
    "Entry 2 of the observation is around 1": lambda x: replace(
        x, moments=observed(np.random.default_rng(0).standard_normal((2000, 4)) * [1, 1, 1e7, 1])
    ),
    "Observations may be as large as 255, .* Try --normalize": lambda x: replace(
        x, config=replace(x.config, normalize=False), bound=255.0
    ),
}


@pytest.mark.parametrize("sentence", TROUBLES)
def test_every_trouble_is_said_in_a_sentence_with_what_to_try(sentence):
    (said,) = sentences(TROUBLES[sentence](healthy()))
    assert re.search(sentence, said)


def test_all_diagnoses_are_provoked_here():
    provoked = set()
    for trouble in TROUBLES.values():
        provoked |= {row for row, _ in DIAGNOSES if row(trouble(healthy()))}
    assert provoked == {row for row, _ in DIAGNOSES}


def test_at_most_three_are_said_and_a_cause_hides_its_consequences():
    x = healthy()
    for trouble in TROUBLES.values():
        x = replace(trouble(x), config=replace(trouble(x).config, max_steps=37))
    said = sentences(x)
    assert len(said) == 3
    assert "Reward made no difference" in said[0]
    assert not any("almost plain ES" in s or "best policy" in s for s in said)


def test_es_without_any_reward_is_told_to_look_for_novelty():
    x = healthy("es", members=1)
    x = replace(x, score=ONES, return_mean=ONES, return_best=ONES, weight=ONES)
    assert sentences(x)[0].endswith("ES follows nothing else. Try --algorithm nsra-es.")


def test_a_solved_task_is_not_asked_why_it_stood_still():
    assert sentences(replace(healthy(), found=3, solved=True)) == []


def test_a_solved_task_is_not_asked_to_find_places_that_may_not_exist():
    everywhere = np.tile(healthy().behaviors[:9], (17, 1))
    assert sentences(replace(healthy(), behaviors=everywhere, solved=True)) == []


def room(places):
    """Behaviors of a population in a room of so many rows and columns, mostly at its goal."""
    cells = [(i, j) for i in range(places[0]) for j in range(places[1])]
    return np.array([*cells, *(3 + T - len(cells)) * [cells[-1]]], float)


def test_the_archive_of_a_small_room_is_full_when_every_place_has_been_visited():
    assert sentences(replace(healthy(), behaviors=room((3, 3)))) == []
    unvisited = room((3, 3))
    unvisited[4] = unvisited[0]
    (said,) = sentences(replace(healthy(), behaviors=unvisited))
    assert "has not grown outwards" in said


def test_weight_decay_is_not_blamed_where_all_candidates_do_equally_well():
    assert sentences(replace(healthy(), gradient=np.zeros(T))) == []
    assert sentences(replace(healthy(), gradient=np.full(T, 1e-12))) == []


def shortened(x, T):
    names = ("score", "return_mean", "return_best", "weight", "gradient")
    columns = {name: getattr(x, name)[:T] for name in names}
    return replace(x, **columns, found=min(x.found, T), behaviors=x.behaviors[: 3 + T])


def test_nothing_is_said_about_a_few_generations():
    for trouble in TROUBLES.values():
        assert sentences(shortened(trouble(healthy()), 5)) == []


@pytest.mark.parametrize("name", GENERAL)
def test_no_shipped_recipe_can_leave_the_weight_at_1_while_the_score_stands_still(name):
    for task in (*SHIPPED, *(f"atari:{game}" for game in PAPER_GAMES), "CartPole-v1"):
        config = recipe(task, name, "nsra-es")
        assert config.generations < 20 or config.weight_patience <= config.generations / 3


RECORDED = Path(__file__).parent / "recorded.json"


@pytest.mark.parametrize("recorded", json.loads(RECORDED.read_text()), ids=lambda r: r["name"])
def test_runs_of_the_shipped_recipes_are_not_diagnosed(recorded):
    """Numbers of whole runs, of 20 seeds each: those with the earliest best or the least growth."""
    config = recipe(recorded["task"], "laptop", recorded["algorithm"])
    columns = {
        name: np.array(recorded[name])
        for name in ("score", "return_mean", "return_best", "weight", "gradient", "behaviors")
    }
    others = {name: recorded[name] for name in ("steps", "found", "solved", "theta", "bound")}
    x = Case(config=config, moments=None, **columns, **others)
    assert sentences(x) == []


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    directory = tmp_path_factory.mktemp("smoke")
    return nses.train(
        "point-trap", recipe="smoke", backend="serial", tensorboard=False, run_dir=directory / "run"
    )


def test_a_run_is_read_into_a_case(smoke):
    x = case_of(story_of(smoke), smoke.state)
    assert (x.generations, x.steps, x.found, x.solved) == (5, 300.0, smoke.best.generation, False)
    assert x.behaviors.shape == (2 + 5, 2)
    assert x.weight.shape == (5 + 1,)
    assert x.moments is not None
    assert x.moments.count >= 300
    assert 0 < x.theta < 100
    assert sentences(x) == []


def test_much_of_an_image_may_never_change(tmp_path):
    run = nses.train(
        "minigrid:MiniGrid-Empty-5x5-v0", observation="image,direction", recipe="smoke",
        behavior="final-attribute:agent_pos", generations=10, max_steps=20, backend="serial",
        tensorboard=False, pictures=False, run_dir=tmp_path / "run",
    )  # fmt: skip
    x = case_of(story_of(run), run.state)
    assert x.moments is None
    assert odd_observations(x) is None


def test_the_command_line_and_the_page_say_what_was_wrong(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["--recipe", "smoke", *PLAIN, "--generations", "10", "--run-dir", "run"]
    code, out, _ = call(capsys, "train", "troubled:Calm", "--max-steps", "5", *flags)
    assert code == 0
    assert "Every episode was cut off after 5 steps" in out
    page = write_run_report(nses.load("run")).read_text()
    assert "Every episode was cut off after 5 steps" in page
