"""All settings of a run, in one flat value. The text under a field is its `--help`."""

import difflib
import json
import math
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Config:
    task: str
    """What to learn: a task of `nses tasks`, any Gymnasium id, or package.module:attribute."""

    algorithm: Literal["es", "ns-es", "nsr-es", "nsra-es"] = "nsra-es"
    """Reward only, novelty only, both in equal parts, or both with a weight that adapts."""
    recipe: Literal["paper", "laptop", "smoke"] = "laptop"
    """Where all the other settings come from, unless they are given."""
    seed: int = 0
    """The run seed: the same seed gives the same run, to the bit."""
    generations: int = 100
    """T, how many generations to train in all."""

    n: int = 100
    """Candidates per generation, one episode each; even, because they are mirrored."""
    sigma: float = 0.02
    """Standard deviation of the perturbations."""
    lr: float = 0.01
    """Step size of the optimizer."""
    l2: float = 0.005
    """Pull of the parameters towards zero, in units of the gradient without its factor 1/sigma."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam as in the paper, or SGD with momentum 0.9."""
    members: int = 5
    """M, agents in the population."""
    k: int = 10
    """Nearest neighbours in the archive that novelty is measured against."""
    evaluation_episodes: int = 10
    """E, episodes without noise that measure an updated member."""
    weight: float = 1.0
    """NSRA-ES: the first weight w of reward against novelty."""
    weight_patience: int = 50
    """NSRA-ES: t_w, updates without improvement before w falls."""
    weight_step: float = 0.05
    """NSRA-ES: delta_w, how far w moves."""
    weight_min_gain: float = 0.0
    """NSRA-ES: improvements up to this size do not count as such."""
    weight_per_member: bool = False
    """NSRA-ES: a weight for each member in place of one for all."""
    ranks: Literal["tied", "ordinal"] = "tied"
    """Equal values share their mean rank, or are ranked as they stand (the authors' code)."""
    selection: Literal["cached", "fresh"] = "cached"
    """Choose a member by its last known behavior, or by new episodes of every member."""

    hidden: tuple[int, ...] = (64, 64)
    """Hidden layers of the network."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the hidden layers."""
    normalize: bool = True
    """Standardise observations by running moments."""
    reference: int = 128
    """Observations of random play that the batch norm of a network for pixels compares with."""
    moments_probability: float = 0.01
    """Share of the episodes that contribute to these moments."""
    action_noise: float = 0.01
    """Standard deviation of noise on continuous actions of perturbed episodes."""

    behavior: str | None = None
    """What novelty looks at: final:KEY,KEY of info or final-observation:0,1 (also mean: and
    trajectory:, mean-observation: ...), or package.module:function, a function of the last
    (observation, info) that returns numbers. If not given: the task's own, or the whole last
    observation."""
    distance: Literal["squared-euclidean", "euclidean", "ram", "ram-total"] | None = None
    """How behaviors are compared; the task says so if this does not. ram and ram-total are for
    traces: the sum over all steps, or the root of the sum of all squares."""
    max_steps: int | None = None
    """Step limit of an episode, where the environment has none or a longer one."""
    environment: tuple[str, ...] = ()
    """Arguments of the environment, as NAME=VALUE."""
    retest_episodes: int = 30
    """Fresh episodes of the best policy at the end: its score on the way is a lucky one."""

    run_dir: str | None = None
    """Where the run is kept; runs/TASK/ALGORITHM/seed-SEED if not given."""
    workers: int | None = None
    """Worker processes; all CPUs that this process may use if not given."""
    backend: Literal["serial", "processes"] = "processes"
    """Where episodes are played. The result is the same."""
    native: bool = True
    """Use the compiled episode loop of a task that has one. The result is the same."""
    deadline: float = 300.0
    """Seconds after which an episode counts as hanging and its worker is replaced."""
    checkpoint_seconds: float = 30.0
    """Seconds between checkpoints; interruptions always write one."""
    keep_every: int = 100
    """Keep the checkpoint of every so many generations; of the others, the last three."""
    tensorboard: bool = True
    """Write TensorBoard events."""
    pictures: bool = True
    """End with pictures of the run and a page that shows them."""

    @property
    def environment_arguments(self) -> dict[str, Any]:
        """The NAME=VALUE pairs, values as JSON where they are."""
        pairs = (pair.partition("=") for pair in self.environment)
        return {name: value_of(f"environment {name}", text) for name, _, text in pairs}


def value_of(name: str, text: str) -> Any:
    """A value that stands on the line: as JSON where it is, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:  # also a number of more digits than Python reads
        return text
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply, got {text[:20]}...") from None


# What a run may change between its beginning and its end without becoming another run.
CHANGEABLE = frozenset(
    [
        "recipe",  # its settings are all stored by name
        "generations",
        "run_dir",
        "workers",
        "backend",
        "native",
        "deadline",
        "checkpoint_seconds",
        "keep_every",
        "tensorboard",
        "pictures",
    ]
)

# What must hold of a number: name → (smallest, largest, whether the smallest itself is allowed).
RANGES: dict[str, tuple[float, float, bool]] = {
    "seed": (0, 2**63 - 1, True),
    "generations": (0, 10**9, True),
    "sigma": (0, math.inf, False),
    "lr": (0, math.inf, False),
    "l2": (0, math.inf, True),
    "members": (1, 10**4, True),
    "k": (1, 10**9, True),
    "evaluation_episodes": (1, 10**6, True),
    "weight": (0, 1, True),
    "weight_patience": (1, 10**9, True),
    "weight_step": (0, 1, True),
    "weight_min_gain": (0, math.inf, True),
    "moments_probability": (0, 1, True),
    "reference": (2, 10**4, True),
    "action_noise": (0, math.inf, True),
    "max_steps": (1, 10**9, True),
    "retest_episodes": (1, 10**6, True),
    "workers": (1, 4096, True),
    "deadline": (0, math.inf, False),
    "checkpoint_seconds": (0, math.inf, True),
    "keep_every": (1, 10**9, True),
}

# Letters of a text, and entries of a list: names are drawn in pictures and written into pages.
LONGEST = {"task": 200, "behavior": 1000}
LONGEST_ARGUMENT = 10_000
MOST_ARGUMENTS = MOST_LAYERS = 100

OF_THE_TASK = ("behavior", "distance", "max_steps")

_HINTS = get_type_hints(Config)


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """`config` with these settings, checked; ValueError lists all that is wrong."""
    errors = []
    known = [field.name for field in fields(Config)]
    accepted: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            errors.append(
                f"unknown setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else ".")
            )
            continue
        if name == "environment" and isinstance(value, Mapping):
            value = tuple(f"{key}={json.dumps(item)}" for key, item in value.items())
        if isinstance(value, list):
            value = tuple(value)
        if not _matches(value, _HINTS[name]):
            errors.append(f"{name} must be {_describe(_HINTS[name])}, got {value!r}.")
            continue
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = int(value)  # NumPy's integers are not JSON
        try:
            accepted[name] = value if _HINTS[name] is not float else float(value)  # type: ignore[arg-type]
        except OverflowError:
            errors.append(f"{name} must be a number that a float can hold, got a larger one.")
    new = replace(config, **accepted)
    errors += _violations(new)
    if errors:
        raise ValueError("\n".join(errors))
    return new


def from_dict(values: Mapping[str, Any]) -> Config:
    """A configuration as it was stored."""
    if not isinstance(values.get("task"), str):
        raise ValueError("the configuration names no task.")
    return changed(Config(task=values["task"]), values)


def to_dict(config: Config) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(config).items()}


def differences(ours: Config, theirs: Config) -> list[str]:
    """Settings that make it another run, line by line."""
    return [
        f"{field.name}: {getattr(ours, field.name)!r} here, {getattr(theirs, field.name)!r} there"
        for field in fields(Config)
        if field.name not in CHANGEABLE and getattr(ours, field.name) != getattr(theirs, field.name)
    ]


def _violations(config: Config) -> list[str]:
    errors = []
    n = config.n
    if n < 2 or n % 2:
        nearest = max(2, n + n % 2)
        errors.append(
            f"n must be even and at least 2 because candidates are mirrored, got n={n}; "
            f"try n={nearest}."
        )
    for name, (low, high, inclusive) in RANGES.items():
        value = getattr(config, name)
        if value is None:
            continue
        inside = (low <= value if inclusive else low < value) and value <= high
        if not (inside and math.isfinite(value)):  # NaN fails every comparison
            sign = "at least" if inclusive else "greater than"
            most = f" and at most {high:g}" if math.isfinite(high) else ""
            errors.append(f"{name} must be {sign} {low:g}{most}, got {value}.")
    errors += _too_long(config)
    errors += [
        f"{name} must be text, got {text!r}, which has half a letter."
        for name in ("task", "behavior", "environment")
        if _broken(text := str(getattr(config, name)))
    ]
    if not all(units >= 1 for units in config.hidden):
        errors.append(f"hidden must be layers of at least 1 unit each, got {config.hidden}.")
    for pair in config.environment:
        name, equals, _ = pair.partition("=")
        if not name.isidentifier() or not equals:
            errors.append(f"environment takes NAME=VALUE, got {pair!r}.")
        if name in OF_THE_TASK:
            errors.append(f"{name} is a setting of its own, not one of the environment.")
    try:
        config.environment_arguments  # noqa: B018
    except ValueError as error:
        errors.append(str(error))
    return errors


def _broken(text: str) -> bool:
    """Whether it has surrogates, which no file and no terminal takes."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _too_long(config: Config) -> list[str]:
    texts = {name: (len(getattr(config, name) or ""), most) for name, most in LONGEST.items()}
    texts["environment"] = (max(map(len, config.environment), default=0), LONGEST_ARGUMENT)
    lists = {
        "environment": (len(config.environment), MOST_ARGUMENTS),
        "hidden": (len(config.hidden), MOST_LAYERS),
    }
    return [
        f"{name} must have at most {most:,} {what}, got {length:,}."
        for what, lengths in (("letters", texts), ("entries", lists))
        for name, (length, most) in lengths.items()
        if length > most
    ]


def _matches(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return any(_matches(value, option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_matches(x, get_args(hint)[0]) for x in value)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, hint)


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_describe(option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {_describe(get_args(hint)[0])}s"
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    return names.get(hint, "nothing")
