"""`-m benchmarks.rivals.race LIBRARY ENV SEED FOLDER START SECONDS`, in an environment of its own.

Trains with the settings that the library publishes for this environment, or else for the nearest
one, until it is killed. Two workers with one thread each. START is what the monotonic clock said
when the program was started.
"""

# The libraries are installed in another environment than ours:
# pyright: reportMissingImports=false

import math
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.racing.points import Network, Recorder
from benchmarks.rivals.measure import WORKERS

# Humanoid: examples/scripts/rl_gym.py of EvoTorch, for Humanoid-v4. It publishes nothing for the
# half-cheetah; this is `walker` of examples/scripts/rl_clipup.py, without the bonus for being
# alive, which the half-cheetah does not get.
PGPE_SETTINGS: dict[str, dict[str, Any]] = {
    "Humanoid-v5": {
        "popsize": 200, "popsize_max": 3200, "num_interactions": 150_000, "radius_init": 0.27,
        "max_speed": 0.015, "alive": 5.0,
    },
    "HalfCheetah-v5": {
        "popsize": 100, "popsize_max": 800, "num_interactions": 75_000, "radius_init": 0.225,
        "max_speed": 0.015, "alive": 0.0,
    },
}  # fmt: skip
GRACE = 60  # seconds
LEARNING_RATE = 0.75  # of the largest speed, as in both scripts

# hyperparams/ars.yml of rl-baselines3-zoo, for Humanoid-v4 and HalfCheetah-v4.
ARS_SETTINGS: dict[str, dict[str, Any]] = {
    "Humanoid-v5": {
        "learning_rate": 0.02, "delta_std": 0.0075, "n_delta": 256, "n_top": 256,
        "alive_bonus_offset": -5,
    },
    "HalfCheetah-v5": {
        "learning_rate": 0.02, "delta_std": 0.03, "n_delta": 32, "n_top": 4,
        "alive_bonus_offset": 0,
    },
}  # fmt: skip


def evotorch(env: str, seed: int, record: Recorder) -> None:
    """PGPE with ClipUp and a linear policy on GymNE."""
    import ray
    import torch
    from evotorch.algorithms import PGPE
    from evotorch.neuroevolution import GymNE

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    settings = dict(PGPE_SETTINGS[env])
    problem = GymNE(
        env,
        "Linear(obs_length, act_length)",
        observation_normalization=True,
        decrease_rewards_by=settings.pop("alive"),
        num_actors=WORKERS,
    )
    speed = settings.pop("max_speed")
    searcher = PGPE(
        problem,
        center_learning_rate=LEARNING_RATE * speed,
        stdev_learning_rate=0.1,
        optimizer="clipup",
        optimizer_config={"max_speed": speed},
        **settings,
    )
    update = searcher._update_distribution

    def updated(gradients: Any) -> None:
        update(gradients)
        record(problem.interaction_count, center_of(problem, searcher))

    record(0, center_of(problem, searcher))
    searcher._update_distribution = updated  # after a step, the centre is still the one before it
    while True:
        searcher.step()


def center_of(problem: Any, searcher: Any) -> Network:
    """The centre of the search and the normalisation of the problem, checked against its own."""
    import torch

    center, stats = searcher.status["center"], problem.get_observation_stats()
    weight, bias = (x.detach().numpy().copy() for x in problem.make_net(center).parameters())
    known = stats.count > 0
    mean = np.array(stats.mean) if known else np.zeros(weight.shape[1])
    std = np.array(stats.stdev) if known else np.ones(weight.shape[1])
    network = Network(mean, std, math.inf, ((weight, bias),))
    own = problem.to_policy(center, clip_actions=False)
    example = (mean + std).astype(np.float32)
    check(network, example, own(torch.as_tensor(example)).detach().numpy())
    return network


def ars(env: str, seed: int, record: Recorder) -> None:
    """ARS with a linear policy; AsyncEval, since vectorised environments gain nothing."""
    import torch
    from sb3_contrib import ARS
    from sb3_contrib.common.vec_env import AsyncEval
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    def make(index: int) -> VecNormalize:
        return VecNormalize(make_vec_env(env, seed=seed + index), norm_obs=True, norm_reward=False)

    class Records(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:  # after every update
            record(self.model.num_timesteps, policy_of(self.model))

    torch.set_num_threads(1)
    model = ARS("LinearPolicy", make(0), seed=seed, **ARS_SETTINGS[env])
    workers = AsyncEval([lambda i=i: make(i) for i in range(WORKERS)], model.policy)
    model.learn(10**9, callback=Records(), async_eval=workers)


def policy_of(model: Any) -> Network:
    """The policy and the normalisation of its environment, checked against its own actions."""
    normal = model.get_vec_normalize_env()
    (weight,) = (x.detach().numpy().copy() for x in model.policy.parameters())
    std = np.sqrt(normal.obs_rms.var + normal.epsilon)
    mean, bias = normal.obs_rms.mean.copy(), np.zeros(len(weight))
    network = Network(mean, std, normal.clip_obs, ((weight, bias),))
    example = (mean + std).astype(np.float32)
    own, _ = model.policy.predict(normal.normalize_obs(example), deterministic=True)
    space = model.action_space
    check(lambda x: np.clip(network(x), space.low, space.high), example, own)
    return network


def check(network: Any, observation: Any, actions: Any) -> None:
    """Check that a policy acts as it does in its library."""
    if not np.allclose(network(observation), actions, rtol=1e-3, atol=1e-4):
        raise ValueError(f"the policy must act {actions}, got {network(observation)}.")


LIBRARIES = {"evotorch": evotorch, "ars": ars}

if __name__ == "__main__":
    library, env, seed, folder, start, seconds = sys.argv[1:]
    signal.alarm(math.ceil(float(seconds)) + GRACE)  # if there is nobody left to kill it
    LIBRARIES[library](env, int(seed), Recorder(Path(folder), float(start)))
