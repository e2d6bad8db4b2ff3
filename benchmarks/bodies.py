"""The speed of compiled MuJoCo episodes, against the bare simulator and other libraries."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import nses
from benchmarks import rivals
from benchmarks.crew import crew, work_together
from benchmarks.foundation import Measure
from benchmarks.replay import recordings_of, replaying
from benchmarks.rivals.measure import POPULATION
from nses.core.algorithms import Search
from nses.core.archive import Archive, archive_of, empty
from nses.core.values import Candidates, Evaluation, State
from nses.experiment.settings.build import search_of
from nses.experiment.settings.config import Config
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.mujoco import BodyEnv

ROUNDS = 7
TURNS = 3  # of libraries that take half a minute to start


def config_of(task: str, n: int, hidden: tuple[int, ...] = (256, 256)) -> Config:
    """The paper's settings with few candidates: one environment, and networks that cost time."""
    paper = recipe(task, "paper", "nsra-es")
    return replace(paper, n=n, members=3, evaluation_episodes=10, hidden=hidden, workers=2)


@contextmanager
def training(config: Config) -> Iterator[tuple[Search, State]]:
    """A search, and a state whose next generation can be repeated, since a step is pure."""
    with search_of(config, make_task(config.task)) as search:
        state = search.init()
        search.step(state)
        yield search, state


def seconds_of(act: Callable[[], object]) -> float:
    before = time.perf_counter()
    act()
    return time.perf_counter() - before


def inside_mujoco() -> Iterator[Measure]:
    """A whole generation against the bare simulation of its episodes."""
    for task, n, hidden, most in (
        ("humanoid", 1000, (256, 256), 1.10),
        ("halfcheetah", 100, (256, 256), 1.30),
        ("halfcheetah", 100, (64, 64), 1.10),
    ):
        taken = multiprocessing.get_context("spawn").Value("l", 0)
        with training(config_of(task, n, hidden)) as (search, state):
            recordings = recordings_of(search, state)
            steps = sum(len(recording.controls) for recording in recordings)
            ratios, theirs = [], []
            with crew(2, replaying, task, recordings, taken) as simulators:
                for _ in range(ROUNDS):
                    ours = seconds_of(lambda: search.step(state))
                    taken.value = 0
                    theirs.append(seconds_of(lambda: work_together(simulators)))
                    ratios.append(ours / theirs[-1])
        ratio, bare = float(np.median(ratios)), steps / float(np.median(theirs))
        yield Measure(
            f"{task}, {hidden[0]}-{hidden[1]}: time of a generation to bare mj_step calls "
            f"({bare:,.0f} steps per second)",
            ratio, "×", f"≤ {most:.2f}", ratio <= most,
        )  # fmt: skip


def against_rivals() -> Iterator[Measure]:
    """Whole generations with the same number of candidates, in turns."""
    names = {"evotorch": "EvoTorch PGPE", "ars": "SB3-contrib ARS"}
    for task, env, least in (("humanoid", "Humanoid-v5", 3), ("halfcheetah", "HalfCheetah-v5", 8)):
        ours: list[float] = []
        theirs: dict[str, list[float]] = {name: [] for name in names}
        ratios: dict[str, list[float]] = {name: [] for name in names}
        with training(config_of(task, POPULATION[env])) as (search, state):
            for _ in range(TURNS):
                for name in names:
                    before = speed(search, state, 5)
                    theirs[name].append(rivals.steps_per_second(name, env, 15))
                    ours += [before, speed(search, state, 5)]
                    ratios[name].append((ours[-2] + ours[-1]) / 2 / theirs[name][-1])
        for name, title in names.items():
            ratio = float(np.median(ratios[name]))
            yield Measure(
                f"{task}, 256-256: {np.median(ours):,.0f} steps per second to "
                f"{np.median(theirs[name]):,.0f} of {title} on {env}",
                ratio, "×", f"≥ {least}", ratio >= least,
            )  # fmt: skip


def speed(search: Search, state: State, seconds: float) -> float:
    """Steps per second of the generations after a state."""
    start, before = time.perf_counter(), state.env_steps
    while time.perf_counter() - start < seconds:
        state, _ = search.step(state)
    return (state.env_steps - before) / (time.perf_counter() - start)


@contextmanager
def alone(config: Config) -> Iterator[Callable[[], None]]:
    """A generation in this process alone."""
    with training(replace(config, backend="serial")) as (search, state):

        def work() -> None:
            search.step(state)

        yield work


def scaling() -> Iterator[Measure]:
    """Two workers against one, and the ceiling: two independent processes."""
    config = config_of("humanoid", 400)
    ratios, ceilings = [], []
    with (
        training(replace(config, workers=1)) as (one, state),
        training(replace(config, workers=2)) as (two, _),
        crew(2, alone, config) as pair,
    ):
        for _ in range(ROUNDS):
            single, double = (seconds_of(lambda s=s: s.step(state)) for s in (one, two))
            ratios.append(single / double)
            lonely, both = (seconds_of(lambda p=p: work_together(p)) for p in (pair[:1], pair))
            ceilings.append(2 * lonely / both)
    ratio = float(np.median(ratios))
    yield Measure(
        "humanoid, 256-256, n = 400: 2 workers to 1 "
        f"(two independent processes reach {np.median(ceilings):.2f})",
        ratio, "×", "≥ 1.9", ratio >= 1.9,
    )  # fmt: skip


def coordinator() -> Iterator[Measure]:
    """The share of a generation of the paper's size that is spent outside evaluations."""
    config = replace(recipe("humanoid", "paper", "nsra-es"), workers=2)
    durations: list[float] = []
    with search_of(config, make_task("humanoid")) as search:

        def evaluate(candidates: Candidates, A: Archive) -> Evaluation:
            before = time.perf_counter()
            evaluation = search.evaluate(candidates, A)
            durations.append(time.perf_counter() - before)
            return evaluation

        h, state = search.hyperparameters, search.init()
        replace(search, hyperparameters=replace(h, n=100)).step(state)  # compiles
        timed = replace(search, evaluate=evaluate)
        whole = seconds_of(lambda: timed.step(state))
    share = 1 - sum(durations) / whole
    yield Measure(
        f"humanoid, n = 10,000, a generation of {whole:.0f} s: the coordinator's share",
        100 * share, "%", "≤ 2", share <= 0.02,
    )  # fmt: skip


def es_with_an_archive() -> Iterator[Measure]:
    """ES with a full archive against ES with an empty one: the same episodes, in turns.

    In one process, by its CPU time, so that what else the machine does hardly matters.
    """
    config = replace(recipe("swimmer-trap", "laptop", "es"), backend="serial")
    entries = np.random.default_rng(0).standard_normal((100_000, 2))
    with training(config) as (search, state):
        states = [replace(state, archive=empty(0)), replace(state, archive=archive_of(entries))]
        spent: list[list[float]] = [[], []]
        for turn in range(4 * ROUNDS):
            for i in (0, 1) if turn % 2 else (1, 0):
                before = time.process_time()
                states[i], _ = search.step(states[i])
                spent[i].append(time.process_time() - before)
    ratio = float(np.median(spent[1]) / np.median(spent[0]))
    yield Measure(
        f"ES on swimmer-trap ({np.median(spent[0]) * 1e3:.0f} ms of CPU a generation): "
        "archive of 100,000 to none",
        ratio, "×", "≤ 1.02", ratio <= 1.02,
    )  # fmt: skip


SIMULATIONS: tuple[dict[str, Any], ...] = (
    {"substeps": 2},
    {"integrator": "implicitfast"},
    {"integrator": "implicitfast", "substeps": 2},
)
SHAKES, SHAKEN = 24, 15  # episodes, and steps of each
WALKER, WALKS = Path(__file__).parents[1] / "docs" / "results" / "humanoid", 30


def simulations() -> Iterator[Measure]:
    """How much faster other simulations of the humanoid are, and how far they stray from its own.

    All play the same controls; positions are compared after the last step, 0.2 s later. Then the
    policy on record plays episodes of its own in each of them.
    """
    own = BodyEnv("humanoid")
    others = [BodyEnv("humanoid", **options) for options in SIMULATIONS]
    seconds, places = zip(*(shaken(own, others) for _ in range(ROUNDS)), strict=True)
    ratios, strayed = np.median(seconds, axis=0), places[0]
    for options, ratio, metres in zip(SIMULATIONS, ratios, strayed, strict=True):
        name = named(options)
        yield Measure(f"humanoid with {name} against its own simulation", ratio, "×", "–", True)
        yield Measure(f"humanoid with {name}: mean distance of joints", metres, "rad, m", "–", True)
    for options in ({}, *SIMULATIONS):
        played = nses.evaluate(WALKER, "best", WALKS, environment=options)
        walked = float(np.median(np.hypot(*played.behaviors.T)))
        name = f"the humanoid on record with {named(options) or 'its own simulation'}"
        yield Measure(f"{name}: mean return", float(played.returns.mean()), "", "–", True)
        yield Measure(f"{name}: median distance", walked, "m", "–", True)


def named(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def shaken(own: BodyEnv, others: list[BodyEnv]) -> tuple[list[float], list[float]]:
    """Speeds against the own simulation, and distances from it."""
    found = []
    for environment in (own, *others):
        places = []
        before = time.process_time()
        for seed in range(SHAKES):
            rng = np.random.default_rng(seed)
            environment.reset(seed=seed)
            phases = rng.uniform(0, 2 * np.pi, environment.model.nu)
            for t in range(SHAKEN):
                environment.step((0.4 * np.sin(phases + t / 4)).astype(np.float32))
            places.append(environment.data.qpos.copy())
        found.append((time.process_time() - before, np.array(places)))
    (taken, right), *rest = found
    return [taken / x for x, _ in rest], [float(np.abs(b - right).mean()) for _, b in rest]


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "inside-mujoco": inside_mujoco,
    "rivals": against_rivals,
    "humanoid-scaling": scaling,
    "humanoid-coordinator": coordinator,
    "es-archive": es_with_an_archive,
    "simulations": simulations,
}
