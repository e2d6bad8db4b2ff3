"""Estimate what a run will cost, here or on a cluster, from a short measurement."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from rich.console import Console
from rich.table import Table

from nses.core import archive, moments, noise
from nses.core.seeding import Purpose, generator
from nses.core.values import Candidates, Floats
from nses.errors import UsageError
from nses.execution.backends import BACKENDS
from nses.execution.clock import BRIEF
from nses.execution.cpus import ONE_THREAD, usable_cpus
from nses.execution.serial import Serial
from nses.experiment.analysis.machines import (
    RAY,
    RIGHT,
    UPDATE,
    Cluster,
    Outcome,
    Tricks,
    Work,
    lasting,
)
from nses.experiment.analysis.simulation import simulate
from nses.experiment.settings.build import (
    policy_of,
    reference_of,
    task_of,
    training_plan_of,
    with_network,
)
from nses.experiment.settings.config import Config
from nses.experiment.settings.memory import (
    archive_bytes,
    archives_bytes,
    check_memory,
    warn_of_memory,
)
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.task import Task
from nses.words import duration, short

MEASURED_SECONDS = 2.0
SCALING = 0.95  # fraction of the ideal speed that several workers reach on idle cores
SIMULATED = 50_000  # candidates at most; with more, CPUs only work longer before they wait
MOST_NODES = 4096
SHARING = 10  # runs, as many as the paper has of a humanoid experiment
SHARED = Tricks(gradient_on_nodes=True, unit=1)  # what they do so that no CPU waits


@dataclass(frozen=True)
class Estimate:
    """Time and memory. Untrained policies play the measured episodes; `longest` is the limit."""

    parameters: int
    steps_per_second: float  # of one worker
    episode_steps: float  # of an untrained policy
    step_limit: int
    coordinator: float  # seconds per generation
    now: Outcome  # of a generation, at the measured lengths
    at_most: Outcome  # of one in which every episode reaches the step limit
    shared: Outcome | None  # of runs that share a cluster, at the measured lengths
    memory: int  # bytes on a machine, with an archive of the longest episodes
    generations: int
    episodes: int  # in all

    @property
    def total(self) -> float:
        return self.generations * self.now.generation

    @property
    def longest(self) -> float:
        return self.generations * self.at_most.generation


def estimate(config: Config, nodes: int | None = None) -> Estimate:
    """Play episodes for two seconds, sum a gradient, and simulate generations with both."""
    cluster = _cluster(config, nodes)
    task = task_of(config)
    config = with_network(config, task.facts)
    check_memory(config, task)
    if nodes is None:
        warn_of_memory(config, task)
    policy = policy_of(config, task.facts, reference_of(config, task))
    size = noise.table_size(policy.size)
    with Serial(training_plan_of(config, task, policy), noise_size=size) as play:
        noise.fill_table(play.noise, config.seed)
        lengths, seconds = _measured(play, policy, config)
        slower = _slower(play, policy, config, seconds / float(lengths.sum()))
        n = _candidates(config, float(lengths.mean()))
        gradient = _gradient_seconds(config, n, play.noise, policy.size)
        noise_bytes = play.noise.nbytes
    T, fast = config.generations, config.training_generations or config.generations
    own = 1 + max(0, 1 - fast / max(1, T)) * (slower - 1)  # the last ones play where members do
    speed = float(lengths.sum()) / (seconds * own)
    crowded = SCALING if cluster.cpus > cluster.nodes else 1.0
    work = Work(
        seconds=lengths / (speed * crowded),
        n=n,
        **_unperturbed(config),
        slower=slower / own,
        members=config.members,
        parameters=policy.size,
        gradient=gradient,
        update=UPDATE,
        entry=archive_bytes(config, task) // (config.members + config.generations),
    )
    tricks = _tricks(config, cluster, float(work.seconds.mean()))
    fewest = replace(work, n=_candidates(config, task.step_limit))
    longest = lasting(fewest, task.step_limit / (speed * crowded))
    tests = config.retest_episodes * (1 + len(task.variations))
    fixed = config.members * work.evaluation_episodes + tests
    return Estimate(
        parameters=policy.size,
        steps_per_second=speed,
        episode_steps=float(lengths.mean()),
        step_limit=task.step_limit,
        coordinator=gradient + UPDATE,
        now=_outcome(work, cluster, tricks),
        at_most=_outcome(longest, cluster, tricks),
        shared=None if nodes is None else _outcome(work, cluster, SHARED, SHARING),
        memory=_memory(_of_a_machine(config, cluster), policy.size, task, noise_bytes),
        generations=config.generations,
        episodes=config.generations * work.episodes + fixed,
    )


def _cluster(config: Config, nodes: int | None) -> Cluster:
    """Return this machine, or as many like it as asked for."""
    if nodes is None:
        return Cluster(max(1, BACKENDS[config.backend].workers(config.workers)))
    workers = config.workers or nodes * usable_cpus()
    if not 1 <= nodes <= min(workers, MOST_NODES):
        raise UsageError(
            f"nodes must be at least 1 and at most {MOST_NODES}, with a worker for each, got "
            f"--nodes {nodes} and --workers {workers}."
        )
    return Cluster(workers, nodes, RAY)


def _tricks(config: Config, cluster: Cluster, episode: float) -> Tricks:
    """Return what a run that is alone does so that no CPU waits."""
    tricks = SHARED if cluster.costs is RAY else Tricks()
    if cluster.cpus == 1 or not config.look_ahead or episode < BRIEF:
        return tricks
    return replace(tricks, foresight=RIGHT if config.members > 1 else 1.0, early=True)


def _of_a_machine(config: Config, cluster: Cluster) -> Config:
    """Return the settings of a run that has one of the machines, the largest, for itself."""
    if cluster.costs is not RAY:
        return config
    return replace(config, backend="processes", workers=max(cluster.sizes))


def _slower(play: Serial, policy: Policy, config: Config, seconds: float) -> float:
    """Return how many times as long a step takes where members play, against these seconds."""
    if not config.training_environment:
        return 1.0
    lengths, taken = _measured(play, policy, config, perturbed=False)
    return taken / float(lengths.sum()) / seconds


def _measured(
    play: Serial, policy: Policy, config: Config, perturbed: bool = True
) -> tuple[Floats, float]:
    """Return the lengths of untrained policies' episodes, and the seconds they took.

    Perturbed ones play where candidates do, the others where members do.
    """
    lengths: list[Floats] = []
    episodes, seconds, seen = 0, 0.0, moments.initial(policy.moments_size)
    while seconds < MEASURED_SECONDS:
        theta = policy.init(generator(config.seed, 0, episodes, Purpose.POLICY_INIT))
        pair = Candidates(theta, seen, np.array([episodes, episodes + 1]))
        if perturbed:
            epsilon = noise.sample(play.noise, policy.size, 2, config.seed, episodes)
            pair = replace(pair, sigma=config.sigma, epsilon=epsilon)
        before = time.perf_counter()
        played = play(pair, archive.empty(0)).lengths
        if episodes:  # the first pair compiles, or loads what was compiled
            seconds += time.perf_counter() - before
            lengths.append(played.astype(np.float64))
        episodes += 2
    return np.concatenate(lengths), seconds


def _outcome(work: Work, cluster: Cluster, tricks: Tricks, runs: int = 1) -> Outcome:
    """Simulate a few generations; if there are very many candidates, with a part of them."""
    part = replace(work, n=min(work.n, SIMULATED // runs))
    outcome = simulate(part, cluster, runs=runs, tricks=tricks, generations=3)
    more = (work.n - part.n) * float(np.mean(work.seconds)) * runs / cluster.cpus
    busy = outcome.efficiency * outcome.generation + more
    generation = outcome.generation + more
    return replace(outcome, generation=generation, efficiency=busy / generation)


def _candidates(config: Config, episode_steps: float) -> int:
    """Of a generation, if all episodes have this length."""
    pairs = ceil(config.steps_per_generation / (2 * episode_steps))
    return max(config.n, 2 * pairs)


def _unperturbed(config: Config) -> dict[str, int]:
    """Episodes without noise: of an evaluation, and how many evaluations a generation has."""
    of_b = config.behavior_episodes or config.evaluation_episodes
    episodes = max(config.evaluation_episodes, of_b)
    looked_at = config.members * of_b if config.selection == "fresh" else 0
    return {"evaluation_episodes": episodes, "assessments": 1 + ceil(looked_at / episodes)}


def _gradient_seconds(config: Config, n: int, table: noise.Table, d: int) -> float:
    """Time of the gradient sum, measured on some rows and scaled up."""
    part = min(n, max(2, 2 * (20_000_000 // d)))
    epsilon = noise.sample(table, d, part, config.seed, 0)
    F = np.linspace(-0.5, 0.5, part)
    threads = BACKENDS[config.backend].threads(config.workers)
    epsilon.weighted_sum(F, threads)  # compiles, or loads what was compiled
    seconds = []
    for _ in range(5):  # the least of these is the one that nothing else on the machine delayed
        before = time.perf_counter()
        epsilon.weighted_sum(F, threads)
        seconds.append(time.perf_counter() - before)
    return min(seconds) * n / part


def _memory(config: Config, d: int, task: Task, noise_bytes: int) -> int:
    """Bytes of all processes; the noise is shared, so it counts once."""
    processes = BACKENDS[config.backend].workers(config.workers)
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
    cluster, table = e.now.cluster, Table.grid(padding=(0, 2))
    name = f"{config.task} {config.algorithm} --recipe {config.recipe}"
    table.add_row("recipe", f"{name}: {e.generations:,} generations, {e.episodes:,} episodes")
    table.add_row("network", f"{e.parameters:,} parameters")
    table.add_row(
        "speed",
        f"{e.steps_per_second:,.0f} steps/s per worker, {e.steps_per_second * cluster.cpus:,.0f} "
        f"with {cluster.cpus:,}; untrained episodes last {e.episode_steps:,.0f} steps "
        f"(limit {e.step_limit:,})",
    )
    table.add_row(
        "generation",
        f"{e.now.generation:.3g} s; the gradient alone takes {e.coordinator:.2g} s here",
    )
    table.add_row("total", _now_or_at_most(e, duration(e.total), duration(e.longest)))
    hours = [short(x.core_hours(e.generations)) for x in (e.now, e.at_most)]
    table.add_row("core-hours", _now_or_at_most(e, *hours))
    table.add_row("efficiency", _share(e.now))
    if e.shared is not None:
        table.add_row(
            f"{SHARING} runs at once",
            f"{_share(e.shared)}; {short(e.shared.core_hours(e.generations))} core-hours each, "
            f"{duration(e.generations * e.shared.generation)} for all of them",
        )
    where = "" if e.shared is None else f" on each of {cluster.nodes} nodes"
    table.add_row("memory", f"{e.memory / 1e9:.2f} GB at most{where}")
    console.print(table, highlight=False, soft_wrap=True)


def _now_or_at_most(e: Estimate, now: str, at_most: str) -> str:
    if e.longest <= 1.1 * e.total:
        return now
    return f"{now} at this length, {at_most} if all episodes reach the limit"


def _share(outcome: Outcome) -> str:
    """Say how much of the time CPUs play, and what most of the rest is lost to."""
    text = f"CPUs play {100 * min(1.0, outcome.efficiency):.1f} % of the time"
    return text if outcome.efficiency > 0.995 else f"{text}; most of the rest: {outcome.cause}"
