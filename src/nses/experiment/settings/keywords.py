"""The settings as keywords of `nses.train`, so that an editor completes them and finds slips.

Config declares them; type checkers read no dataclass as keywords, so a test keeps this in step.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from nses.rollouts.behaviors import Behavior, Probe

# A row of a table may be added at run time, hence `| str`: editors still complete the others.
AlgorithmName = Literal["es", "ns-es", "nsr-es", "nsra-es"] | str
RecipeName = Literal["paper", "authors", "laptop", "smoke"]


class Keywords(TypedDict, total=False):
    """Every setting that is not a parameter of `nses.train` by itself."""

    generations: int
    stop_at: float | Literal["none"] | None
    stop_after: int | Literal["none"] | None
    time_limit: str | float | None
    n: int
    steps_per_generation: int
    training_reward: float
    sigma: float
    lr: float
    half_life: int
    l2: float
    optimizer: Literal["adam", "sgd", "clipup"] | str
    members: int
    k: int
    evaluation_episodes: int
    behavior_episodes: int | None
    weight: float
    weight_patience: int
    weight_step: float
    weight_min_gain: float
    weight_per_member: bool
    ranks: Literal["tied", "ordinal"]
    selection: Literal["novelty", "fresh", "uniform", "round-robin", "cached"]
    network: Literal["auto", "mlp", "gru", "conv"]
    hidden: Sequence[int]
    activation: Literal["tanh", "relu"]
    normalize: bool
    policy_class: str | None
    reference: int
    reference_sampling: Literal["spread", "consecutive"] | str
    moments_probability: float
    action_noise: float
    behavior: str | Behavior | Probe | None
    distance: Literal["squared-euclidean", "euclidean", "ram", "ram-total"] | str | None
    max_steps: int | None
    start_from: str | None
    environment: Mapping[str, Any] | Sequence[str]
    training_environment: Mapping[str, Any] | Sequence[str]
    training_generations: int | None
    observation: str | None
    imports: Sequence[str]
    retest_episodes: int
    workers: int | None
    backend: Literal["serial", "processes", "ray"] | str
    ray_address: str | None
    allow_other_numerics: bool
    native: bool
    look_ahead: bool
    deadline: float
    checkpoint_seconds: float
    keep_every: int
    tensorboard: bool
    pictures: bool
