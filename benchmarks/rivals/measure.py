"""`measure.py LIBRARY ENV SECONDS`, in the rivals' own environment: how fast one of them trains.

Whole generations after the first one, which warms up, until SECONDS have passed. Two workers with
one thread each, an MLP 2 × 256 with tanh. Prints {library, env, steps, seconds} as JSON.
"""

# The libraries are installed in another environment than ours:
# pyright: reportMissingImports=false

import json
import os
import sys
import time
from collections.abc import Callable

WORKERS = 2
POPULATION = {"HalfCheetah-v5": 40, "Humanoid-v5": 400}  # a generation takes a few seconds
SETTINGS = {  # of all processes, before torch is imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}

Mark = Callable[[int], None]  # called with the steps so far after every generation


class Enough(Exception):
    """The time is up."""


def evotorch(env: str, population: int, mark: Mark) -> None:
    """PGPE on GymNE, with the settings of the library's own humanoid example."""
    import ray
    from evotorch.algorithms import PGPE
    from evotorch.neuroevolution import GymNE

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    hidden = "Linear(obs_length, 256) >> Tanh() >> Linear(256, 256) >> Tanh()"
    problem = GymNE(
        env,
        f"{hidden} >> Linear(256, act_length)",
        observation_normalization=True,
        num_actors=WORKERS,
    )
    searcher = PGPE(
        problem,
        popsize=population,
        center_learning_rate=0.01125,
        stdev_learning_rate=0.1,
        radius_init=0.27,
        optimizer_config={"max_speed": 0.015},
    )
    while True:
        searcher.step()
        mark(problem.interaction_count)


def ars(env: str, population: int, mark: Mark) -> None:
    """ARS with AsyncEval, as in its documentation, which omits normalisation."""
    import torch
    from sb3_contrib import ARS
    from sb3_contrib.common.vec_env import AsyncEval
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    class Marks(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            if self.model.num_timesteps:
                mark(self.model.num_timesteps)

    model = ARS(
        "MlpPolicy",
        env,
        n_delta=population // 2,
        zero_policy=False,  # a zero start is meant for linear policies
        policy_kwargs={"net_arch": [256, 256], "activation_fn": torch.nn.Tanh},
    )
    workers = AsyncEval([lambda: make_vec_env(env) for _ in range(WORKERS)], model.policy)
    try:
        model.learn(10**9, callback=Marks(), async_eval=workers)
    finally:
        workers.close()


LIBRARIES = {"evotorch": evotorch, "ars": ars}


def main(library: str, env: str, seconds: float) -> None:
    marks: list[tuple[float, int]] = []

    def mark(steps: int) -> None:
        marks.append((time.perf_counter(), steps))
        if marks[-1][0] - marks[0][0] >= seconds:
            raise Enough

    os.environ.update(SETTINGS)
    try:
        LIBRARIES[library](env, POPULATION[env], mark)
    except Enough:
        (start, before), (end, after) = marks[0], marks[-1]
        result = {"library": library, "env": env, "steps": after - before, "seconds": end - start}
        print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
