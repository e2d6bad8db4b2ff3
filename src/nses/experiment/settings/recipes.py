"""Recipes: functions that return a full configuration, by task and name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from nses.errors import UsageError
from nses.experiment.settings.config import Config, members_of
from nses.rollouts.tasks.games import letters

Recipe = Callable[[str, str], Config]  # (task, algorithm) → configuration

RUNS = 5  # of each algorithm, as for the paper's games
PAPER_RUNS = 10  # of the paper's humanoids


def recipe(task: str, name: str, algorithm: str) -> Config:
    """The configuration of a recipe for a task; tasks without their own use the general ones."""
    own = TASK_RECIPES.get(task, ATARI_RECIPES if task.startswith("atari:") else {})
    if name not in GENERAL:
        raise UsageError(f"recipe must be one of {', '.join(GENERAL)}, got {name!r}.")
    return own.get(name, GENERAL[name])(task, algorithm)


def runs_of(task: str, name: str) -> int:
    """Runs per algorithm: as many as in the paper for its own settings, else a quick number."""
    return PAPER_RUNS if name not in ("laptop", "smoke") and not task.startswith("atari:") else RUNS


def _recipe(name: str, members: int, **settings: Any) -> Recipe:
    """Settings for every task and algorithm; `members` holds for algorithms with a population."""

    def config(task: str, algorithm: str) -> Config:
        M = members_of(algorithm, members)
        base = Config(task=task, algorithm=algorithm, recipe=name, members=M)  # type: ignore[arg-type]
        return replace(base, **settings)

    return config


def _with(base: Recipe, members: int | None = None, **changes: Any) -> Recipe:
    """A recipe that differs from another in a few settings."""

    def config(task: str, algorithm: str) -> Config:
        M = {} if members is None else {"members": members_of(algorithm, members)}
        return replace(base(task, algorithm), **M, **changes)

    return config


# The settings of the paper's humanoid experiments.
_paper = _recipe(
    "paper", members=5, generations=800, n=10_000, evaluation_episodes=30, hidden=(256, 256)
)


# What the authors' released code does where it is not what the paper says (docs/fidelity.md), with
# the numbers of its configuration files: humanoid.json, humanoid_nses.json, humanoid_nsres.json.
def _authors(task: str, algorithm: str) -> Config:
    return replace(
        _paper(task, algorithm),
        recipe="authors",
        n=1000,
        steps_per_generation=100_000,
        ranks="ordinal",
        selection=_authors_selection(algorithm),
        behavior_episodes=5,
        distance="euclidean",
    )


def _authors_selection(algorithm: str) -> Literal["fresh", "novelty"]:
    """New episodes of every member, where there is one to be chosen."""
    return "fresh" if members_of(algorithm, 2) > 1 else "novelty"


HIP = "left_hip=-120"
MARGIN = 'trap={"margin": 0.001}'

# A useful first try on any small environment: minutes on two cores. The weight can fall to 0 and
# return several times in one run (docs/results/defaults.md).
_laptop = _recipe(
    "laptop",
    members=3,
    generations=200,
    n=50,
    sigma=0.1,
    lr=0.05,
    evaluation_episodes=5,
    weight_patience=5,
    weight_step=0.1,
    hidden=(32, 32),
    moments_probability=0.1,
)

# Shows that everything works: seconds.
_smoke = _recipe(
    "smoke",
    members=2,
    generations=5,
    n=16,
    evaluation_episodes=2,
    weight_patience=2,
    hidden=(16, 16),
    moments_probability=0.25,
    retest_episodes=5,
)

# ES stays in the trap, the other three get out: about ten seconds on one core. The task without
# the trap is its control, and has the same settings.
_point_laptop = _recipe(
    "laptop",
    members=5,
    generations=500,
    n=100,
    evaluation_episodes=5,
    weight_patience=10,
    hidden=(16, 16),
    normalize=False,
    moments_probability=0.0,
    action_noise=0.0,
)

# As for the point, with a body: two to three minutes on one core.
_swimmer_laptop = _with(
    _laptop, members=5, generations=500, n=20, weight_patience=10, weight_step=0.05
)

# For a body that has to keep its balance: a linear policy, and small steps of a length that ClipUp
# decides, each after so many episodes that they are not mostly noise. One member gets all the time.
_walking = _recipe(
    "laptop",
    members=1,
    generations=1000,
    n=200,
    steps_per_generation=50_000,
    sigma=0.01,
    lr=0.02,
    l2=0.0,
    optimizer="clipup",
    evaluation_episodes=5,
    hidden=(),
    moments_probability=0.1,
)

# A body that cannot fall can take longer steps. All its episodes last to the limit.
_halfcheetah_laptop = _with(
    _walking, generations=200, n=40, steps_per_generation=0, sigma=0.05, lr=0.1
)

# Candidates first play in a simulation six times as fast as the humanoid's own; the last 200
# generations play in its own. Perturbations shrink: wide ones find a gait that forgives mistakes,
# narrow ones improve it. Ranks leave out the reward for standing. In front of the trap there is no
# such reward, and a population takes turns.
_humanoid = _with(
    _walking,
    generations=1200,
    half_life=1000,
    training_environment=("integrator=implicitfast", "substeps=2"),
    training_generations=1000,
)
_humanoid_laptop = _with(_humanoid, training_reward=5.0)
_humanoid_trap_laptop = _with(_humanoid, members=3, weight_patience=10)

# An ant has four legs, and learns with longer perturbations and fewer generations.
_ant_trap_laptop = _with(
    _walking, members=3, generations=300, n=100, sigma=0.02, weight_patience=10
)

# The network of the paper, so that a smoke test sees its 166,673 parameters.
_humanoid_smoke = _with(_smoke, hidden=(256, 256))

# The paper trains games with long episodes for 150 generations and those with short ones for 300;
# it says 200 for Seaquest. We decided which game is which by the length of its episodes.
ATARI_GENERATIONS = {"freeway": 150, "beamrider": 150, "frostbite": 300, "montezumarevenge": 300}


def _atari_paper(task: str, algorithm: str) -> Config:
    """The settings of the paper's Atari experiments; --weight-patience 10 is its Seaquest study."""
    game = letters(task.partition(":")[2])
    return Config(
        task=task,
        algorithm=algorithm,
        recipe="paper",
        generations=ATARI_GENERATIONS.get(game, 200),
        n=5000,
        members=members_of(algorithm, 3),
        evaluation_episodes=30,
    )


# n and the steps of a generation in frostbite_es.json, frostbite_nses.json, frostbite_nsres.json.
# The authors' code does not have NSRA-ES.
AUTHORS_ATARI = {"es": (5000, 10_000), "ns-es": (100, 1000), "nsr-es": (1000, 10_000)}


def _atari_authors(task: str, algorithm: str) -> Config:
    """The same for games. The files are for Frostbite, others are as the paper says."""
    paper = _atari_paper(task, algorithm)
    frostbite = letters(task.partition(":")[2]) == "frostbite"
    n, steps = AUTHORS_ATARI.get(algorithm, AUTHORS_ATARI["nsr-es"])
    return replace(
        paper,
        recipe="authors",
        n=n,
        steps_per_generation=steps,
        sigma=0.005 if frostbite and algorithm == "es" else paper.sigma,
        ranks="ordinal",
        selection=_authors_selection(algorithm),
        behavior_episodes=1,
        distance="ram-total",
        reference_sampling="consecutive",
    )


# The paper's settings, scaled down to an hour or less on two cores for most games.
_atari_laptop = _with(
    _atari_paper,
    recipe="laptop",
    generations=100,
    n=60,
    evaluation_episodes=5,
    weight_patience=10,
    max_steps=1000,
)

# Shows that everything works: half a minute.
_atari_smoke = _with(
    _atari_paper,
    members=2,
    recipe="smoke",
    generations=3,
    n=8,
    evaluation_episodes=2,
    weight_patience=2,
    max_steps=200,
    retest_episodes=5,
)


GENERAL: dict[str, Recipe] = {
    "paper": _paper,
    "authors": _authors,
    "laptop": _laptop,
    "smoke": _smoke,
}

ATARI_RECIPES: dict[str, Recipe] = {
    "paper": _atari_paper,
    "authors": _atari_authors,
    "laptop": _atari_laptop,
    "smoke": _atari_smoke,
}

TASK_RECIPES: dict[str, dict[str, Recipe]] = {
    "point": {"laptop": _point_laptop},
    "point-trap": {"laptop": _point_laptop},
    "humanoid": {
        "paper": _with(_paper, generations=600),
        "authors": _with(_authors, generations=600, environment=(HIP,)),
        "laptop": _humanoid_laptop,
        "smoke": _humanoid_smoke,
    },
    "humanoid-trap": {
        "authors": _with(_authors, environment=(HIP, MARGIN)),
        "laptop": _humanoid_trap_laptop,
        "smoke": _humanoid_smoke,
    },
    "swimmer": {"laptop": _swimmer_laptop},
    "swimmer-trap": {"laptop": _swimmer_laptop},
    "ant-trap": {"laptop": _ant_trap_laptop},
    "halfcheetah": {"laptop": _halfcheetah_laptop},
}
