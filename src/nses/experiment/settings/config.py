"""All settings of a run in one flat value, each declared once; the string under it is its help."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral
from typing import Any, Literal, get_type_hints

from nses.core.algorithms import ALGORITHMS, Hyperparameters
from nses.core.distances import DISTANCES
from nses.core.optimizers import OPTIMIZERS
from nses.errors import UsageError
from nses.execution.backends import BACKENDS
from nses.experiment.settings.rules import even, layers, modules, names, pairs
from nses.experiment.settings.setting import (
    Kind,
    RecipeName,
    declared,
    describe,
    matches,
    setting,
    settings_of,
)
from nses.experiment.settings.stopping import given, given_time, too_short
from nses.experiment.settings.values import arguments_of, stored_form
from nses.rollouts.reference import SAMPLINGS


def _pairs(environment: tuple[str, ...]) -> Iterable[str]:
    own = [name for name, known in SETTINGS.items() if known.kind is Kind.TASK]
    return pairs(environment, own)


DEFAULTS = {f.name: f.default for f in fields(Hyperparameters)}  # by symbol


def from_core(symbol: str, **words: Any) -> Any:
    """A setting whose default is that of core: the paper's, if it gives one for all tasks."""
    return setting(DEFAULTS[symbol], symbol=symbol, **words)


@dataclass(frozen=True)
class Config:
    task: str = field(metadata=declared(experiment=True, letters=200))
    """What to learn: a name from 'nses tasks', a Gymnasium id, or module:attribute."""

    algorithm: str = setting("nsra-es", experiment=True, among=ALGORITHMS)
    """Reward only, novelty only, both in equal parts, or both with a weight that adapts."""
    recipe: RecipeName = setting("laptop", experiment=True, changes=True)  # noqa: RUF009  (a field)
    """Where the settings that are not given come from."""
    seed: int = setting(0, experiment=True, at_least=0, at_most=2**63 - 1)
    """The same seed gives the same run, bit for bit."""
    generations: int = setting(100, changes=True, at_least=0, at_most=10**9)
    """T, how many generations to train in all."""
    stop_at: float | None = setting(
        None, changes=True, at_least=-1e300, at_most=1e300, spelled=given
    )
    """Stop as soon as the best score is this high."""
    stop_after: int | None = setting(None, changes=True, at_least=1, at_most=10**9, spelled=given)
    """Stop after so many generations without a better score."""
    time_limit: str | None = setting(
        None, changes=True, letters=50, rule=too_short, spelled=given_time
    )
    """Stop after the generation in which training has taken this long in all: 90s, 30m or 1h30m."""

    n: int = setting(100, symbol="n", rule=even)
    """Candidates per generation, one episode each; even, because they are mirrored."""
    steps_per_generation: int = from_core(
        "steps_per_generation", episodes=True, at_least=0, at_most=10**9
    )
    """More candidates than n, in mirrored pairs, until they have made so many steps together."""
    training_reward: float = from_core("shift", episodes=True, at_least=-1e9, at_most=1e9)
    """Constant that is taken from the reward of every step when candidates are ranked, and only
    then (the shift of ARS). It should be the reward for merely being alive."""
    sigma: float = from_core("sigma", above=0)
    """Standard deviation of the perturbations."""
    lr: float = from_core("lr", above=0)
    """Step size of the optimizer."""
    half_life: int = from_core("half_life", at_least=0, at_most=10**9)
    """Generations in which sigma and lr halve, again and again; 0: they stay as they are."""
    l2: float = from_core("l2", at_least=0)
    """Weight decay: pulls parameters towards zero, relative to the gradient without its 1/sigma."""
    optimizer: str = from_core("optimizer", among=OPTIMIZERS)
    """Adam as in the paper, SGD with momentum 0.9, or ClipUp: momentum 0.9 of unit gradients."""
    members: int = from_core("M", at_least=1, at_most=10**4)
    """M, members of the population."""
    k: int = from_core("k", at_least=1, at_most=10**9)
    """Novelty is the mean distance to the k nearest neighbours in the archive."""
    evaluation_episodes: int = setting(10, symbol="E", episodes=True, at_least=1, at_most=10**6)
    """E, episodes without noise that evaluate an updated member."""
    behavior_episodes: int | None = from_core(
        "behavior_episodes", episodes=True, at_least=1, at_most=10**6
    )
    """Episodes without noise whose mean behavior is the member's (of traces, the first counts).
    If not given: all evaluation episodes."""
    weight: float = from_core("w", at_least=0, at_most=1)
    """NSRA-ES: the initial weight w of reward (of novelty: 1-w)."""
    weight_patience: int = from_core("t_w", at_least=1, at_most=10**9)
    """NSRA-ES: t_w, updates without improvement before w falls."""
    weight_step: float = from_core("delta_w", at_least=0, at_most=1)
    """NSRA-ES: delta_w, how far w moves at a time."""
    weight_min_gain: float = from_core("min_gain", at_least=0)
    """NSRA-ES: gains up to this size do not count as improvement."""
    weight_per_member: bool = from_core("weight_per_member")
    """NSRA-ES: a separate weight for each member instead of one for all."""
    ranks: Literal["tied", "ordinal"] = setting("tied", symbol="ordinal_ranks", yes="ordinal")
    """Equal values share their mean rank, or are ranked in order (as in the authors' code)."""
    selection: Literal["novelty", "fresh", "uniform", "round-robin", "cached"] = from_core(
        "selection", formerly={"cached": "novelty"}
    )
    """How the member to update is chosen:
    novelty - of its last known behavior (Eq. 1);
    fresh - novelty in new episodes (the authors' code);
    uniform - at random; round-robin - in turn;
    cached - the former name of novelty."""

    network: Literal["auto", "mlp", "gru", "conv"] = setting("auto")
    """auto - conv for images, else mlp;
    mlp - a multilayer perceptron, for which images are flattened;
    gru - the same with a memory: its last hidden layer is a gated recurrent unit;
    conv - the paper's convolutions, fitted to the image."""
    hidden: tuple[int, ...] = setting((64, 64), entries=100, rule=layers)
    """Units of each hidden layer of the network."""
    activation: Literal["tanh", "relu"] = setting("tanh")
    """Activation of the hidden layers."""
    normalize: bool = setting(True)
    """Standardise observations by their running mean and variance."""
    policy_class: str | None = setting(None, letters=200)
    """A network of your own, as module:attribute: a policy, or a class or function that makes one
    from (observation_size, outputs). The settings of the network are then ignored."""
    reference: int = setting(128, at_least=2, at_most=10**4)
    """Observations of random play in the reference batch (virtual batch norm, for pixels)."""
    reference_sampling: str = setting("spread", among=SAMPLINGS)
    """Which observations these are: one in a hundred, or the first ones (the authors' code)."""
    moments_probability: float = from_core(
        "moments_probability", episodes=True, at_least=0, at_most=1
    )
    """Fraction of episodes that contribute to the running mean and variance."""
    action_noise: float = setting(0.01, at_least=0)
    """Standard deviation of the noise on candidates' continuous actions."""

    behavior: str | None = setting(None, kind=Kind.TASK, letters=1000)
    """What novelty is measured on:
    final:KEY,KEY - entries of the last info;
    final-observation:0,1 - of the last observation;
    final-attribute:NAME - an attribute of the environment
    (mean and trajectory also take the place of final);
    module:function - numbers that your function of the
    last (observation, info) returns.
    If not given: the task's own, or else the whole last
    observation."""
    distance: str | None = setting(None, kind=Kind.TASK, symbol="distance", among=DISTANCES)
    """How behaviors are compared; the task's own if not given. For traces: ram sums the distances
    of all steps, ram-total is the root of the sum of all squares."""
    max_steps: int | None = setting(None, kind=Kind.TASK, at_least=1, at_most=10**9)
    """Step limit of an episode, where the environment has none or a longer one."""
    start_from: str | None = setting(None, letters=4096)
    """RUN or RUN:POLICY: begin with a policy of another run, the best one if not said, and with
    what it knows about observations. Other members begin near it."""
    environment: tuple[str, ...] = setting((), entries=100, letters=10_000, rule=_pairs)
    """Arguments of the environment, as NAME=VALUE."""
    training_environment: tuple[str, ...] = setting((), entries=100, letters=10_000, rule=_pairs)
    """Arguments that differ in the environment where candidates play, such as a faster simulation.
    Scores, behaviors of members and the best policy are those of the environment itself."""
    training_generations: int | None = from_core("training_generations", episodes=True, at_least=1)
    """Generations after which candidates play in the environment itself, too."""
    observation: str | None = setting(None, letters=1000, rule=names)
    """Which entries of the observation to use: KEY,KEY of a Dict, 0,1 of a Tuple, or numbers of a
    vector, as in 0:45,60; all if not given."""
    imports: tuple[str, ...] = setting((), entries=100, letters=200, rule=modules, flag="import")
    """A module to import first, which may register environments; can be given several times."""
    retest_episodes: int = setting(30, at_least=1, at_most=10**6)
    """Fresh episodes of the best policy at the end: its score while training was partly luck."""

    run_dir: str | None = setting(None, kind=Kind.PRACTICAL, experiment=True)
    """Where the run is kept; runs/TASK/ALGORITHM/seed-SEED if not given."""
    workers: int | None = setting(
        None, kind=Kind.PRACTICAL, experiment=True, at_least=1, at_most=4096
    )
    """Worker processes, on all machines together; one for every CPU if not given."""
    backend: str = setting("processes", kind=Kind.PRACTICAL, experiment=True, among=BACKENDS)
    """Where episodes are played: in this process (serial), on this machine (processes) or on the
    machines of a Ray cluster (ray). The result is the same."""
    ray_address: str | None = setting(None, kind=Kind.PRACTICAL, experiment=True, letters=300)
    """HOST:PORT of the head of a Ray cluster; if not given, one is started on this machine."""
    allow_other_numerics: bool = setting(False, kind=Kind.PRACTICAL, experiment=True)
    """Let machines play whose versions or processors give other bits."""
    native: bool = setting(True, kind=Kind.PRACTICAL)
    """Use the task's compiled episode loop, if it has one. The result is the same."""
    look_ahead: bool = setting(True, kind=Kind.PRACTICAL)
    """Let workers that have nothing to do begin with the candidates that will probably come next,
    unless episodes are very short. The result is the same."""
    deadline: float = setting(300.0, kind=Kind.PRACTICAL, above=0)
    """Seconds after which an episode counts as hanging and its worker is replaced."""
    checkpoint_seconds: float = setting(30.0, kind=Kind.PRACTICAL, at_least=0)
    """Seconds between checkpoints; an interruption always writes one."""
    keep_every: int = setting(100, kind=Kind.PRACTICAL, at_least=1, at_most=10**9)
    """Keep one checkpoint per this many generations, besides the last three."""
    tensorboard: bool = setting(True, kind=Kind.PRACTICAL)
    """Write TensorBoard events."""
    pictures: bool = setting(True, kind=Kind.PRACTICAL, experiment=True)
    """Draw pictures of the run and a page with them at the end."""

    @property
    def observed(self) -> tuple[str, ...]:
        """The entries of the observation to use; none stands for all."""
        return tuple(key.strip() for key in (self.observation or "").split(",") if key.strip())

    def of_candidates(self, max_steps: int | None) -> "Config":
        """The same run, in the environment where candidates play."""
        both = (*self.environment, *self.training_environment)
        return replace(self, environment=both, training_environment=(), max_steps=max_steps)

    @property
    def environment_arguments(self) -> dict[str, Any]:
        """The NAME=VALUE pairs, each value read as JSON if possible."""
        return arguments_of(self.environment)


SETTINGS = settings_of(Config)

# Settings that may change while a run is under way without making it another run.
CHANGEABLE = frozenset(name for name, known in SETTINGS.items() if known.changeable)
PRACTICAL = frozenset(name for name, known in SETTINGS.items() if known.kind is Kind.PRACTICAL)

_HINTS = get_type_hints(Config)


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """`config` with these settings, which must go together; UsageError says what is wrong."""
    new = _applied(config, changes)
    if {"algorithm", "members"} & {*changes}:
        _refuse_several(new)
    return new


def members_of(algorithm: str, several: int) -> int:
    """1 for an algorithm without a population. An unknown algorithm is refused later, by checks."""
    row = ALGORITHMS.get(algorithm)
    return several if row is None or row.population else 1


def _refuse_several(config: Config) -> None:
    """UsageError if an algorithm that trains one policy is given several."""
    if config.members != members_of(config.algorithm, config.members):
        others = ", ".join(name for name, row in ALGORITHMS.items() if row.population)
        raise UsageError(
            f"{config.algorithm} trains a single policy, so members must be 1, "
            f"got {config.members}; for a population, use one of {others}."
        )


def _applied(config: Config, changes: Mapping[str, Any]) -> Config:
    """`config` with these settings, each checked; a UsageError lists everything that is wrong."""
    errors = []
    accepted: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in SETTINGS:
            close = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
            errors.append(
                f"unknown setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else ".")
            )
            continue
        value = SETTINGS[name].current(stored_form(name, value))
        if not matches(value, _HINTS[name]):
            errors.append(f"{name} must be {describe(_HINTS[name])}, got {value!r}.")
            continue
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = int(value)  # NumPy's integers are not JSON
        try:
            real = _HINTS[name] in (float, float | None) and value is not None
            accepted[name] = float(value) if real else value  # type: ignore[arg-type]
        except OverflowError:
            errors.append(f"{name} must be a number that a float can hold, got a larger one.")
    new = replace(config, **accepted)
    for name, declaration in SETTINGS.items():
        errors += declaration.violations(name, getattr(new, name))
    if errors:
        raise UsageError("\n".join(errors))
    return new


def from_dict(values: Mapping[str, Any]) -> Config:
    """A configuration as it was stored: ES once took several members, and such runs still load."""
    if not isinstance(values.get("task"), str):
        raise UsageError("the configuration does not name a task.")
    return _applied(Config(task=values["task"]), values)


def to_dict(config: Config) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(config).items()}


def differences(ours: Config, theirs: Config) -> list[str]:
    """The settings in which two runs differ and which make them different runs, a line each."""
    return [
        f"{name}: {getattr(ours, name)!r} given, {getattr(theirs, name)!r} stored"
        for name in SETTINGS
        if name not in CHANGEABLE and getattr(ours, name) != getattr(theirs, name)
    ]
