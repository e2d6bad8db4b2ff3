"""Estimate what a run will cost on this machine, from a short measurement."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from nses.core import archive, moments, noise
from nses.core.seeding import Purpose, generator
from nses.core.values import Candidates
from nses.execution.backends import BACKENDS
from nses.execution.cpus import ONE_THREAD
from nses.execution.serial import Serial
from nses.experiment.settings.build import plan_of, policy_of, reference_of, task_of
from nses.experiment.settings.config import Config
from nses.experiment.settings.memory import archives_bytes, check_memory, warn_of_memory
from nses.rollouts.tasks.task import Task
from nses.words import duration

MEASURED_SECONDS = 2.0
SCALING = 0.95  # fraction of the ideal speed that several workers reach on idle cores


@dataclass(frozen=True)
class Estimate:
    """Time and memory. Untrained policies play the measured episodes; `longest` is the limit."""

    parameters: int
    workers: int
    steps_per_second: float  # of one worker
    episode_steps: float  # of an untrained policy
    step_limit: int
    coordinator: float  # seconds per generation
    generation: float  # seconds, at the measured length
    longest_generation: float  # seconds, if every episode reaches the step limit
    memory: int  # bytes, coordinator and workers, with an archive of the longest episodes
    generations: int
    episodes: int  # in all

    @property
    def total(self) -> float:
        return self.generations * self.generation

    @property
    def longest(self) -> float:
        return self.generations * self.longest_generation


def estimate(config: Config) -> Estimate:
    """Play episodes for two seconds, and sum gradients of the real size."""
    task = task_of(config)
    check_memory(config, task)
    warn_of_memory(config, task)
    policy = policy_of(config, task.facts, reference_of(config, task))
    processes = BACKENDS[config.backend].workers(config.workers)
    workers = max(1, processes)
    size = noise.table_size(policy.size)
    steps, episodes, seconds = 0, 0, 0.0
    with Serial(plan_of(config, task, policy), noise_size=size) as play:
        table = play.noise
        noise.fill_table(table, config.seed)
        while seconds < MEASURED_SECONDS:
            theta = policy.init(generator(config.seed, 0, episodes, Purpose.POLICY_INIT))
            epsilon = noise.sample(table, policy.size, 2, config.seed, episodes)
            seeds = np.array([episodes, episodes + 1])
            pair = Candidates(
                theta, moments.initial(policy.moments_size), seeds, config.sigma, epsilon
            )
            before = time.perf_counter()
            lengths = play(pair, archive.empty(0)).lengths
            if episodes:  # the first pair compiles, or loads what was compiled
                seconds, steps = seconds + time.perf_counter() - before, steps + int(lengths.sum())
            episodes += 2
    speed, length = steps / seconds, steps / (episodes - 2)
    coordinator = _coordinator_seconds(config, table, policy.size)
    assessments = 1 + (config.members if config.selection == "fresh" else 0)
    played = config.n + assessments * config.evaluation_episodes
    ideal = workers * (SCALING if workers > 1 else 1.0)

    def generation(episode_steps: float) -> float:
        # The last episodes of a generation keep only some workers busy: half an episode on average.
        waves = played / ideal + (0.5 if workers > 1 else 0.0)
        return max(waves, 1.0) * episode_steps / speed + coordinator

    return Estimate(
        parameters=policy.size,
        workers=workers,
        steps_per_second=speed,
        episode_steps=length,
        step_limit=task.step_limit,
        coordinator=coordinator,
        generation=generation(length),
        longest_generation=generation(task.step_limit),
        memory=_memory(config, policy.size, task, processes, table.nbytes),
        generations=config.generations,
        episodes=config.generations * played
        + config.members * config.evaluation_episodes
        + config.retest_episodes,
    )


def _coordinator_seconds(config: Config, table: noise.Table, d: int) -> float:
    """Time of the gradient sum, which grows with n and d: measured on some rows and scaled up."""
    n = min(config.n, max(2, 2 * (20_000_000 // d)))
    epsilon = noise.sample(table, d, n, config.seed, 0)
    F = np.linspace(-0.5, 0.5, n)
    threads = BACKENDS[config.backend].threads(config.workers)
    epsilon.weighted_sum(F, threads)  # compiles, or loads what was compiled
    before = time.perf_counter()
    epsilon.weighted_sum(F, threads)
    return (time.perf_counter() - before) * config.n / n + 2e-3


def _memory(config: Config, d: int, task: Task, processes: int, noise_bytes: int) -> int:
    """Bytes of all processes; the noise is shared, so it counts once."""
    members = config.members * d * 3 * 4
    process = _bare_process_bytes()
    archives = archives_bytes(config, task)
    return process + members + archives + noise_bytes + processes * (process + 8 * d)


def _bare_process_bytes() -> int:
    """Resident memory of a process that has imported what a worker imports."""
    code = (
        f"import sys; sys.path = {sys.path}\n"
        "import resource, nses.execution.job, nses.rollouts.tasks.catalog;"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run(
        [sys.executable, "-P", "-c", code],  # -P: not from the working directory
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD},
    ).stdout
    return int(out) * (1 if sys.platform == "darwin" else 1024)


def show(e: Estimate, config: Config, console: Console) -> None:
    table = Table.grid(padding=(0, 2))
    name = f"{config.task} {config.algorithm} --recipe {config.recipe}"
    table.add_row("recipe", f"{name}: {e.generations:,} generations, {e.episodes:,} episodes")
    table.add_row("network", f"{e.parameters:,} parameters")
    table.add_row(
        "speed",
        f"{e.steps_per_second:,.0f} steps/s per worker, {e.steps_per_second * e.workers:,.0f} "
        f"with {e.workers}; untrained episodes last {e.episode_steps:,.0f} steps "
        f"(limit {e.step_limit:,})",
    )
    table.add_row(
        "generation",
        f"{e.generation:.3g} s, of which {e.coordinator:.2g} s is not simulation",
    )
    if e.longest > 1.1 * e.total:
        table.add_row(
            "total",
            f"{duration(e.total)} at this length, {duration(e.longest)} if all episodes reach "
            "the limit",
        )
    else:
        table.add_row("total", duration(e.total))
    table.add_row("memory", f"{e.memory / 1e9:.2f} GB at most")
    console.print(table, highlight=False, soft_wrap=True)
