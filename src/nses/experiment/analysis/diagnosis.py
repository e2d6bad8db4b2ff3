"""What probably went wrong in a run, in plain sentences with the flag to try.

A row of DIAGNOSES is a pure function of numbers. It stays silent on short runs, and its bounds are
far from everything that the built-in tasks do with their recipes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np

from nses.core.algorithms import ALGORITHMS
from nses.core.archive import Archive
from nses.core.moments import Moments
from nses.core.values import Floats, State
from nses.core.weight import keep
from nses.errors import CheckpointRefused
from nses.experiment.analysis.comparison import goal_of
from nses.experiment.analysis.stories import Story
from nses.experiment.runs.run import Run
from nses.experiment.settings.build import hyperparameters_of
from nses.experiment.settings.config import Config
from nses.experiment.settings.recipes import recipe
from nses.rollouts.images import images_in
from nses.words import short

MOST = 3  # sentences, the most telling first
FIRST_GENERATIONS = 20  # that the archive is expected to outgrow
OUTGROWN = 1.1  # times the extent of the first behaviors, along any axis
LONG_AGO = 1 / 25  # of the run
LATELY = 20  # generations whose gradients count
DOMINATED = 2.0  # times the gradient
VANISHED = 1e-6  # of the weight decay: all candidates did equally well
OBSERVATIONS = 1000  # before anything is said about them
HUGE, HUGE_RAW = 1e6, 100.0  # standardised and not
UNBOUNDED = 1e5  # bounds beyond this are there for form only, such as the largest float32


@dataclass(frozen=True, eq=False)
class Case:
    """A run that has ended, as far as a diagnosis looks at it. (T,): one number per generation."""

    config: Config
    score: Floats  # (T,)
    return_mean: Floats  # (T,)
    return_best: Floats  # (T,)
    weight: Floats  # (T,), and after the last generation
    gradient: Floats  # (T,) norms
    steps: float  # of an episode, the mean over the whole run
    found: int  # the generation of the best policy
    solved: bool  # whether the best score is above a goal that the task names
    behaviors: Floats  # (|A|, dimensions), the initial members first; (0, 0) for traces
    theta: float  # mean norm over the members
    moments: Moments | None  # of observations; None if not collected, or if they hold an image
    bound: float  # the largest finite one of an observation's numbers; 0 if there is none

    @property
    def generations(self) -> int:
        return len(self.score)


def unpaid(x: Case) -> str | None:
    """All returns are equal."""
    seen = np.concatenate([x.score, x.return_mean, x.return_best])
    if (
        x.generations < 10
        or not np.isfinite(seen).all()
        or np.ptp(seen) > 1e-9 * max(1.0, abs(seen[0]))
    ):
        return None
    same = f"Reward made no difference: every return was {short(float(seen[0]))}"
    if not ALGORITHMS[x.config.algorithm].novelty:
        return f"{same}, and ES follows nothing else. Try --algorithm nsra-es."
    return (
        f"{same}, so novelty is all there is to follow. Look at --behavior: it should tell apart "
        "what matters on the way to a reward."
    )


def confined(x: Case) -> str | None:
    """The archive does not grow outwards.

    Where the task is solved or every place has been visited, there may be nowhere to go.
    """
    first = x.config.members + FIRST_GENERATIONS
    early = x.generations < 5 * FIRST_GENERATIONS or len(x.behaviors) <= first
    if early or x.solved or not _seeks_novelty(x) or _everywhere(x.behaviors):
        return None
    before, after = np.ptp(x.behaviors[:first], axis=0), np.ptp(x.behaviors, axis=0)
    if not np.isfinite(after).all() or (after > OUTGROWN * before).any():
        return None
    if not after.any():
        return "All behaviors were the same, so nothing was ever novel. Try another --behavior."
    return (
        f"The archive has not grown outwards since generation {FIRST_GENERATIONS}: policies keep "
        "ending where others have been. Try another --behavior or a larger --sigma."
    )


def reward_alone(x: Case) -> str | None:
    """The weight never left 1 although the score stood still."""
    idle = x.generations - x.found
    adapts = ALGORITHMS[x.config.algorithm].adapt is not keep
    if (
        x.generations < 20
        or not adapts
        or x.solved
        or (x.weight < 1).any()
        or idle <= x.generations / 3
    ):
        return None
    patience = max(1, x.generations // 20)
    return (
        "The weight w never left 1, so this was almost plain ES, although the score has not risen "
        f"for {idle} generations. Try --weight-patience {patience} "
        f"(it was {x.config.weight_patience})."
    )


def stale(x: Case) -> str | None:
    """The best policy is from the beginning of the run."""
    row = ALGORITHMS[x.config.algorithm]
    if x.generations < 50 or row.w == 0 or x.solved or x.found > LONG_AGO * x.generations:
        return None
    better = "--algorithm nsra-es" if not row.novelty else f"--n {2 * x.config.n}"
    return (
        f"The best policy dates from generation {x.found} of {x.generations}: nothing better has "
        f"come since. Try {better}, or a smaller --lr (it was {x.config.lr:g})."
    )


def cut_short(x: Case) -> str | None:
    """Every episode lasted until a step limit that the user has set."""
    limit = x.config.max_steps
    own = recipe(x.config.task, x.config.recipe, x.config.algorithm).max_steps
    if x.generations < 10 or limit is None or limit == own or x.steps < 0.999 * limit:
        return None
    return (
        f"Every episode was cut off after {limit:,} steps. If that is too soon, "
        f"try --max-steps {2 * limit}."
    )


def decaying(x: Case) -> str | None:
    """Weight decay is stronger than what is learned; no gradient at all has other reasons."""
    sigma = hyperparameters_of(x.config, "").after(x.generations).sigma
    pull, g = x.config.l2 / sigma * x.theta, float(np.median(x.gradient[-LATELY:]))
    if x.generations < 20 or not np.isfinite(g) or not VANISHED * pull < g < pull / DOMINATED:
        return None
    return (
        f"Weight decay is {pull / max(g, 1e-12):.0f} times as strong as the gradient, so "
        f"parameters only shrink. Try --l2 {x.config.l2 / 10:g}."
    )


def odd_observations(x: Case) -> str | None:
    """Most numbers of an observation never change, or some are huge."""
    if x.generations < 10:
        return None
    if not x.config.normalize and x.bound > HUGE_RAW:
        return (
            f"Observations may be as large as {short(x.bound)}, too large for a network that sees "
            "them as they are. Try --normalize."
        )
    m = x.moments
    if m is None or m.count < OBSERVATIONS:
        return None
    scatter = m.square - m.sum**2 / m.count
    # Moments begin with 0.01 observations of variance 1, which is all that a constant scatters.
    constant = int((scatter <= 0.02 * (1 + m.mean**2) + 1e-9 * m.square).sum())
    if 2 * constant > m.sum.size:
        return (
            f"{constant} of the {m.sum.size} numbers in an observation never changed, so policies "
            "see little. Check that the environment reports what they need."
        )
    largest = np.abs(m.mean) + m.std
    if (largest > HUGE).any():
        return (
            f"Entry {int(largest.argmax())} of the observation is around "
            f"{short(float(largest.max()))}. Scale it in the environment: float32 has seven digits."
        )
    return None


def _everywhere(behaviors: Floats) -> bool:
    """Whether behaviors are places of a grid, and all between the outermost ones are among them."""
    if not np.isfinite(behaviors).all() or (behaviors != np.rint(behaviors)).any():
        return False
    places = np.prod(np.ptp(behaviors, axis=0) + 1)
    return 1 < places == len(np.unique(behaviors, axis=0))


def _seeks_novelty(x: Case) -> bool:
    return ALGORITHMS[x.config.algorithm].novelty and bool((x.weight < 1).any())


# (diagnosis, what it explains and therefore hides), the most telling first
DIAGNOSES: tuple[tuple[Callable[[Case], str | None], tuple[Callable[[Case], str | None], ...]], ...]
DIAGNOSES = (
    (unpaid, (reward_alone, stale, decaying)),
    (confined, ()),
    (reward_alone, (stale,)),
    (stale, ()),
    (cut_short, ()),
    (decaying, ()),
    (odd_observations, ()),
)


def sentences(case: Case) -> list[str]:
    """What is probably wrong, at most three diagnoses; empty if nothing is."""
    found: list[str] = []
    hidden: set[object] = set()
    for diagnosis, explained in DIAGNOSES:
        said = None if diagnosis in hidden else diagnosis(case)
        if said is not None:
            found.append(said)
            hidden |= {*explained}
    return found[:MOST]


def diagnosed(story: Story) -> list[str]:
    """The diagnoses of a run that has ended; none before that, or if its checkpoint is damaged."""
    if not story.done or not story.records:
        return []
    try:
        return sentences(case_of(story, story.run.look().state))
    except CheckpointRefused:  # said elsewhere
        return []


def case_of(story: Story, state: State) -> Case:
    last, run = story.records[-1], story.run
    goal = _goal(run)
    moments = max((m.moments for m in state.members), key=lambda moments: moments.count)
    vectors = not images_in(run.facts.observation_space)  # much of an image may never change
    return Case(
        config=run.config,
        score=story.column("score"),
        return_mean=story.column("return_mean"),
        return_best=story.column("return_best"),
        weight=np.append(story.column("weight"), [weight.w for weight in state.weights]),
        gradient=story.column("gradient_norm"),
        steps=last["env_steps"] / max(1, last["episodes"]),
        found=state.best.generation,
        solved=goal is not None and state.best.score > goal,
        behaviors=_vectors(state.archive),
        theta=float(np.mean([np.linalg.norm(m.theta.astype(np.float64)) for m in state.members])),
        moments=moments if moments.sum.size and vectors else None,
        bound=_bound(story),
    )


def _goal(run: Run) -> float | None:
    """What counts as solved: for a built-in task, or as Gymnasium's registry has it."""
    spec = gymnasium.registry.get(run.config.task)
    return goal_of(run) if spec is None else spec.reward_threshold


def _vectors(archive: Archive) -> Floats:
    return np.empty((0, 0)) if archive.traces else archive.rows


def _bound(story: Story) -> float:
    """Of vectors only: the network for pixels scales them itself."""
    space = story.run.facts.observation_space
    ends = [getattr(space, name, np.empty(0)) for name in ("low", "high")]
    if story.run.own_policy or len(getattr(space, "shape", None) or ()) != 1:
        return 0.0
    known = np.abs(np.concatenate([np.asarray(end, np.float64).ravel() for end in ends]))
    return float(max(known[known < UNBOUNDED], default=0.0))
