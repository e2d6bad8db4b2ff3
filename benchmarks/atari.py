"""The speed of the Atari task, compared with the bare emulator and with the usual wrappers."""

import cProfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.foundation import Measure
from benchmarks.frames import recorded, replay
from benchmarks.products import products
from benchmarks.wrappers import wrappers
from nses.core import archive
from nses.core.algorithms import Search
from nses.core.archive import Archive
from nses.core.novelty import novelty
from nses.core.traces import Trace
from nses.core.values import Candidates
from nses.execution.processes import Processes
from nses.execution.serial import Serial
from nses.experiment.settings.build import search_of
from nses.experiment.settings.recipes import recipe
from nses.rollouts.policies.conv import Conv
from nses.rollouts.tasks.atari import LAST_TWO, NONE
from nses.rollouts.tasks.catalog import make_task

ROUNDS = 7
MEMBERS, EPISODES = 3, 6  # of a fresh search, and of each member in a round
GENERATIONS = 100  # each has left a trace in the archive
REAL, PIECE = 50_000, 250  # steps of random play, and of a piece of it

PARTS = {  # of a step, by their functions
    "Camera.take": "image",
    "Conv._bind.<locals>.act": "network",
    "Conv._bind": "VBN",
    "TraceRecord.see": "RAM",
    "novelty": "novelty",
}


def seconds_of(act: Callable[..., object], *arguments: Any) -> float:
    before = time.perf_counter()
    act(*arguments)
    return time.perf_counter() - before


@contextmanager
def searching(game: str, backend: Any = "serial") -> Iterator[tuple[Search, list[Candidates]]]:
    """A fresh search and a few candidates of each of its members, for one process to play."""
    config = replace(
        recipe(f"atari:{game}", "paper", "nsra-es"),
        n=EPISODES,
        members=MEMBERS,
        evaluation_episodes=1,
        backend=backend,
        workers=1,
    )
    with search_of(config, make_task(config.task)) as search:
        members = search.init().members
        yield search, [search.perturb(member, t) for t, member in enumerate(members)]


def policy_and_emulator(search: Search) -> tuple[Conv, Any]:
    """The policy and the emulator of a serial search."""
    assert isinstance(search.evaluate, Serial)
    player: Any = search.evaluate.runner.player
    return player.policy, player.emulator


def archive_around(search: Search, batches: list[Candidates]) -> Archive:
    """Real traces of policies that are as far from the members as their candidates."""
    traces = []
    for t in range(GENERATIONS):
        near = batches[t % len(batches)]
        epsilon = search.noise[t : t + near.theta.size]
        theta = (near.theta + near.sigma * epsilon).astype(np.float32)
        alone = Candidates(theta, near.moments, np.array([t], np.int64))
        traces.append(search.evaluate(alone, archive.empty(0)).b)
    return archive.archive_of(traces)


def play(search: Search, batches: list[Candidates], A: Archive) -> int:
    """Play all these candidates, with everything that a worker does; the number of steps."""
    return sum(int(search.evaluate(candidates, A).lengths.sum()) for candidates in batches)


def inside_atari() -> Iterator[Measure]:
    """Everything a worker does for a generation, against the bare emulation of its frames."""
    for game, least in (("frostbite", 0.55), ("seaquest", 0.48)):
        with searching(game) as (search, batches):
            work = search, batches, archive_around(search, batches)
            _, emulator = policy_and_emulator(search)
            tape, steps = recorded(emulator, play, *work), play(*work)
            ours, bare, parts = [], [], []
            for _ in range(ROUNDS):
                ours.append(seconds_of(play, *work))
                bare.append(seconds_of(replay, emulator, tape))
                parts.append(shares_of_parts(play, *work))
        share = float(np.median(np.divide(bare, ours)))
        each = {"emulator": share}
        each |= {part: float(np.median([x[part] for x in parts])) for part in PARTS.values()}
        each["screens, loop and the rest"] = 1 - sum(each.values())
        microseconds = 1e6 * np.median(ours) / steps
        text = ", ".join(f"{part} {x * microseconds:.0f}" for part, x in each.items())
        yield Measure(
            f"{game}, archive {GENERATIONS}: {steps / np.median(ours):,.0f} steps per second to "
            f"{steps / np.median(bare):,.0f} of the bare emulator (µs per step: {text})",
            share, "×", f"≥ {least}", share >= least,
        )  # fmt: skip


def shares_of_parts(act: Callable[..., object], *arguments: Any) -> dict[str, float]:
    """The share of each part in the time of act(*arguments), by a profiler."""
    profile = cProfile.Profile()
    whole = seconds_of(profile.runcall, act, *arguments)
    shares = {
        PARTS[entry.code.co_qualname]: entry.totaltime / whole
        for entry in profile.getstats()
        if not isinstance(entry.code, str) and entry.code.co_qualname in PARTS
    }
    assert len(shares) == len(PARTS), f"of {list(PARTS.values())} only {list(shares)} were seen"
    return shares


def against_wrappers() -> Iterator[Measure]:
    """Whole candidates against mere steps of the wrappers, in turns."""
    for game in ("frostbite", "seaquest"):
        with searching(game) as (search, batches):
            work = search, batches, archive_around(search, batches)
            steps, ours, theirs = play(*work), [], []
            policy, _ = policy_and_emulator(search)
            with wrappers(game, policy, [candidates.theta for candidates in batches]) as speed:
                speed(1.0)  # to warm up
                for _ in range(ROUNDS):
                    seconds = seconds_of(play, *work)
                    ours.append(steps / seconds)
                    theirs.append(speed(seconds))
        ratio = float(np.median(np.divide(ours, theirs)))
        yield Measure(
            f"{game}: {np.median(ours):,.0f} steps per second in training to "
            f"{np.median(theirs):,.0f} of mere playing with AtariPreprocessing, "
            "FrameStackObservation and PyTorch",
            ratio, "×", "≥ 1.6", ratio >= 1.6,
        )  # fmt: skip


def novelty_of_traces() -> Iterator[Measure]:
    """The novelty of the longest episode against a whole archive, to the time of playing it."""
    steps, entries, k = 5000, 300, 10
    for game in ("frostbite", "seaquest"):
        with searching(game) as (search, batches):
            policy, emulator = policy_and_emulator(search)
            A = archive_of_pieces(emulator, entries, steps)
            shares, most, playing = [], [], []
            for i in range(ROUNDS):
                act = policy.bind_frames(batches[i % MEMBERS].theta)
                start = time.perf_counter()
                b = states_of(emulator, steps, lambda frames, act=act: int(act(frames).argmax()))
                playing.append(time.perf_counter() - start)
                looking = [seconds_of(novelty, b, A, k, "ram") for _ in range(3)]
                shares.append(np.median(looking) / playing[-1])
                most.append(seconds_of(novelty, b, A, entries, "ram") / playing[-1])
        share = float(np.median(shares))
        yield Measure(
            f"{game}: novelty of {steps:,} steps against {entries} traces of that length, to the "
            f"{np.median(playing):.2f} s of playing them (with k = {entries}, where nothing can be "
            f"skipped: {100 * np.median(most):.2g} %)",
            100 * share, "%", "< 5", share < 0.05,
        )  # fmt: skip


def states_of(emulator: Any, steps: int, act: Callable[[Any], int], look: int = LAST_TWO) -> Trace:
    """The RAM at each of `steps` steps, game after game: few fresh policies last that long."""
    rng = np.random.default_rng(0)
    trace = np.empty((steps, emulator.ram.size), np.uint8)
    emulator.reset(rng)
    for row in trace:
        if emulator.over:
            emulator.reset(rng)
        emulator.step(act(emulator.frames), look)
        row[:] = emulator.ram
    return trace


def archive_of_pieces(emulator: Any, entries: int, steps: int) -> Archive:
    """Many long traces from little play: shuffled pieces of it, so that all states are real."""
    rng, choices = np.random.default_rng(0), len(emulator.actions)
    real = states_of(emulator, REAL, lambda _: int(rng.integers(choices)), look=NONE)
    pieces = real.reshape(-1, PIECE, emulator.ram.size)
    chosen = rng.integers(len(pieces), size=(entries, steps // PIECE))
    return archive.archive_of([np.concatenate(pieces[row]) for row in chosen])


def batch_norm() -> Iterator[Measure]:
    """Virtual batch norm of the reference batch, to an average episode of a fresh search."""
    with searching("frostbite") as (search, batches):
        work = search, batches, archive_around(search, batches)
        policy, _ = policy_and_emulator(search)
        count, steps, shares, binding = sum(map(len, batches)), play(*work), [], []
        for i in range(ROUNDS):
            theta = batches[i % MEMBERS].theta
            binding.append(np.median([seconds_of(policy.bind_frames, theta) for _ in range(5)]))
            shares.append(binding[-1] / (seconds_of(play, *work) / count))
    share = float(np.median(shares))
    yield Measure(
        f"frostbite: virtual batch norm, {1e3 * np.median(binding):.0f} ms, to an episode of "
        f"{steps / count:.0f} steps on average",
        100 * share, "%", "< 6", share < 0.06,
    )  # fmt: skip


def memory() -> Iterator[Measure]:
    """What one more worker takes: resident memory without what all processes share."""
    entries, steps = 300, 1000
    with searching("frostbite") as (search, _):
        A = archive_of_pieces(policy_and_emulator(search)[1], entries, steps)
    with searching("frostbite", "processes") as (search, batches):
        play(search, batches, A)
        assert isinstance(search.evaluate, Processes)
        [worker] = search.evaluate.pool.workers
        own, proportional = resident_bytes(worker.process.pid)
    yield Measure(
        f"frostbite: memory of a worker that knows {entries} traces of {steps:,} steps, without "
        f"the shared noise (proportional, noise included: {proportional / 1e6:.0f} MB)",
        own / 1e6, "MB", "< 600", own < 600e6,
    )  # fmt: skip


def resident_bytes(pid: int) -> tuple[int, int]:
    """Resident bytes without the shared files of nses, and the proportional share of all."""
    own, proportional, shared = 0, 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):  # the addresses of the next mapping, and its file at the end
            shared = "memfd:nses" in line
        elif name == "Rss:" and not shared:
            own += 1024 * int(rest[0])
        elif name == "Pss:":
            proportional += 1024 * int(rest[0])
    return own, proportional


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "inside-atari": inside_atari,
    "atari-wrappers": against_wrappers,
    "atari-novelty": novelty_of_traces,
    "atari-batch-norm": batch_norm,
    "atari-memory": memory,
    "atari-products": products,
}
