"""The same judge for all contenders: fresh episodes of Gymnasium's own environment and reward."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import gymnasium as gym
import numpy as np

from benchmarks.racing.points import Network, current, recorded

EPISODES = 10
FIRST_SEED = 10_000  # of the episodes, which are the same for every policy


@dataclass(frozen=True)
class Judged:
    """How good the policy was that a contender had at some time."""

    minutes: float
    steps: int  # that its training had made
    mean: float  # return


def judged(place: Path, env: str, ticks: list[float], workers: int) -> list[Judged]:
    """The policies of a run at these minutes, as far as it had any; each is played only once."""
    points = recorded(place)
    at = {minutes: point for minutes in ticks if (point := current(points, 60 * minutes))}
    distinct = list(dict.fromkeys(at.values()))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        means = pool.map(mean_return, [env] * len(distinct), [x.network for x in distinct])
        found = dict(zip(distinct, means, strict=True))
    return [Judged(minutes, point.steps, found[point]) for minutes, point in at.items()]


def mean_return(env: str, network: Network, episodes: int = EPISODES) -> float:
    return float(np.mean(list(returns(env, network, episodes))))


def returns(env: str, network: Network, episodes: int) -> Iterator[float]:
    """Without noise, with actions clipped to what the environment takes."""
    with gym.make(env) as environment:
        space = environment.action_space
        assert isinstance(space, gym.spaces.Box)
        for episode in range(episodes):
            observation, _ = environment.reset(seed=FIRST_SEED + episode)
            total, over = 0.0, False
            while not over:
                action = np.clip(network(observation), space.low, space.high)
                observation, reward, terminated, truncated, _ = environment.step(action)
                total, over = total + float(reward), terminated or truncated
            yield total
