"""The settings of the algorithms, by the paper's symbols."""

from dataclasses import dataclass, replace

LEAST = 2.0**-20  # of sigma and lr, which must not come to 0


@dataclass(frozen=True)
class Hyperparameters:
    """The paper's symbols, and its values where it gives one value for all tasks."""

    n: int
    sigma: float = 0.02
    lr: float = 0.01
    l2: float = 0.005
    half_life: int = 0  # generations in which sigma and lr halve; 0: never
    M: int = 5
    k: int = 10
    E: int = 30
    w: float = 1.0
    t_w: int = 50
    delta_w: float = 0.05
    min_gain: float = 0.0
    weight_per_member: bool = False
    ordinal_ranks: bool = False
    selection: str = "novelty"
    behavior_episodes: int | None = None  # that b is the mean of; None: all E
    steps_per_generation: int = 0  # that the candidates make at least, however many it takes
    training_generations: int | None = None  # before candidates play in the task itself
    shift: float = 0.0  # taken from the reward of every step before candidates are ranked
    optimizer: str = "adam"
    distance: str = "squared-euclidean"
    moments_probability: float = 0.01

    def after(self, t: int) -> "Hyperparameters":
        """The same in generation t, when sigma and lr have halved t / half_life times."""
        if not self.half_life:
            return self
        left = max(0.5 ** (t / self.half_life), LEAST)
        return replace(self, sigma=left * self.sigma, lr=left * self.lr)

    def at_home(self, t: int) -> bool:
        """Whether candidates of generation t play in the task itself, wherever they trained."""
        return self.training_generations is not None and t >= self.training_generations
