"""What a cluster costs against workers without Ray, and what it sends around."""

import pickle
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.bodies import seconds_of
from benchmarks.foundation import Measure
from nses.core.archive import Archive, archive_of, empty
from nses.core.moments import nothing
from nses.execution.connecting import Connection
from nses.execution.evaluator import Judge
from nses.execution.forecast import Forecast
from nses.execution.foreman import Answer
from nses.execution.job import DONE, Job, empty_rows, news
from nses.execution.parcel import parcel_of
from nses.execution.ray import Batch, OnRay, Place
from nses.execution.runner import Plan
from nses.experiment.settings.build import plan_of, policy_of, reference_of, search_of
from nses.experiment.settings.config import Config
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import make_task

ROUNDS = 7
ROWS, CALLS, FOREMEN = 256, 40, 4  # calls in a generation
NODES = 16
TRACE = 500, 128  # bytes of RAM in an episode of 500 steps


def one_node() -> Iterator[Measure]:
    """Generations on two workers, with and without Ray, in turns."""
    for task, n, least in (
        ("swimmer-trap", 200, 0.95),
        ("halfcheetah", 100, 0.95),
        ("humanoid", 400, 0.95),
        ("point-trap", 2000, 0.92),
    ):
        config = replace(recipe(task, "laptop", "nsra-es"), n=n, workers=2)
        ratio = speed_with_ray(config)
        yield Measure(
            f"{task}, n = {n}, two workers: speed with Ray to speed without",
            ratio, "×", f"≥ {least}", ratio >= least,
        )  # fmt: skip


def speed_with_ray(config: Config) -> float:
    """The speed of a generation, with Ray to without."""
    task, taken = make_task(config.task), list[float]()
    with (
        search_of(replace(config, backend="processes"), task) as without,
        search_of(replace(config, backend="ray"), task) as on_ray,
    ):
        state = without.init()
        for search in (without, on_ray):
            search.step(state)
        for _ in range(ROUNDS):
            plain = seconds_of(lambda: without.step(state))
            taken.append(plain / seconds_of(lambda: on_ray.step(state)))
    return float(np.median(taken))


# Messages.


class Echo:
    """A foreman that has played everything before anybody asks."""

    def __init__(self, answer: Answer):
        self.answer = answer

    def play(self, start: int) -> Answer:
        parcel = replace(self.answer.parcel, indices=np.arange(start, start + ROWS))
        return replace(self.answer, parcel=parcel)


def rows() -> Iterator[Measure]:
    """Answers come from foremen that do nothing else, and are merged as in a run."""
    import ray

    job, plan = job_and_plan("humanoid", ROWS * CALLS)
    made = empty_rows(ROWS, plan)
    made.status[:] = DONE
    answer = Answer(1, parcel_of(job, made, list(range(ROWS)), None))
    with closing(Connection(None, FOREMEN)):
        actor: Any = ray.remote(Echo)
        actors = [actor.options(num_cpus=1).remote(answer) for _ in range(FOREMEN)]
        ray.get([one.play.remote(0) for one in actors])
        batches = [Batch(1, job, plan, Forecast(0)) for _ in range(ROUNDS)]
        seconds = [seconds_of(lambda b=batch: merge(b, actors)) for batch in batches]
        assert not any(batch.shares.open.any() for batch in batches)
    speed = len(job) / float(np.median(seconds))
    yield Measure(f"rows merged at {ROWS} a call", speed, "rows/s", "≥ 1e5", speed >= 1e5)


def merge(batch: Batch, actors: list[Any]) -> None:
    import ray

    driver: Any = SimpleNamespace(judge=Judge(), place=Place())
    node: Any = SimpleNamespace(found=SimpleNamespace(id="node", name="node"))
    starts = iter(range(0, len(batch.job), ROWS))
    calls = {one.play.remote(next(starts)): one for one in actors}
    while calls:
        done, _ = ray.wait(list(calls), num_returns=1)
        for call in done:
            one = calls.pop(call)
            OnRay._receive(driver, node, ray.get(call), batch)
            if (start := next(starts, None)) is not None:
                calls[one.play.remote(start)] = one


def traffic() -> Iterator[Measure]:
    """Bytes as they are pickled."""
    for task, entry in (("humanoid", np.zeros(2)), ("atari:freeway", np.zeros(TRACE, np.uint8))):
        n = recipe(task, "paper", "nsra-es").n
        job, plan = job_and_plan(task, n)
        share = n // NODES
        parcel = parcel_of(job, empty_rows(n, plan), list(range(share)), None)
        A = archive_of([entry])
        told = sum(size_of(x) for x in news(A.append(entry), A))
        yield Measure(
            f"{task}, n = {n}: a job and the new entry of the archive, to every node",
            (size_of(job) + told) / 1e3, "KB", "-", True,
        )  # fmt: skip
        yield Measure(f"{task}: a result", size_of(parcel) / share, "bytes", "-", True)
    ratio = whole_to_increments()
    yield Measure(
        "Atari: sending the whole archive in every generation to sending what is new",
        ratio, "×", "≥ 50", ratio >= 50,
    )  # fmt: skip


def whole_to_increments() -> float:
    """Over a run of the paper, whose archive begins with its members."""
    config = recipe("atari:seaquest", "paper", "nsra-es")
    trace = np.zeros(TRACE, np.uint8)
    A = archive_of([trace] * config.members)
    known: Archive | None = None
    whole = increments = 0
    for _ in range(config.generations):
        whole += sum(size_of(x) for x in news(A, None))
        increments += sum(size_of(x) for x in news(A, known))
        A, known = A.append(trace), A
    return whole / increments


def size_of(what: object) -> int:
    return len(pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL))


def job_and_plan(task: str, n: int) -> tuple[Job, Plan]:
    """As a run of the paper has it, but with as many candidates as asked for."""
    config, made = recipe(task, "paper", "nsra-es"), make_task(task)
    policy = policy_of(config, made.facts, reference_of(config, made))
    plan = plan_of(config, made, policy)
    indices = np.arange(n)
    job = Job(
        theta=np.zeros(policy.size, np.float32),
        moments=nothing(plan.moments_size),
        seeds=indices,
        sigma=0.02,
        offsets=indices[: n // 2],
        contributes=(indices + 1) * config.moments_probability % 1 < config.moments_probability,
        archive=empty(0),
        whole=n,
    )
    return job, plan
