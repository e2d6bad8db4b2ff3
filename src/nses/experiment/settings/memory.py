"""Whether a run fits into the memory of this machine, checked before it starts."""

import logging
import os
from pathlib import Path

import numpy as np

from nses.core.noise import table_size
from nses.errors import UsageError
from nses.execution.backends import BACKENDS
from nses.execution.job import memory_fields
from nses.execution.shared import size_of
from nses.experiment.settings.build import largest_call, policy_of
from nses.experiment.settings.config import Config
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

STATE = 128  # bytes: Atari's RAM, which a trace holds for every step
OPTIMIZED = 3  # theta and the two moments of Adam, float32
CHECKPOINT = 2  # copies of the archive: one to write a checkpoint, one to read it back


def archive_bytes(config: Config, task: Task) -> int:
    """The archive at the end of a run. Traces count as if every episode reached the step limit."""
    traces = task.behavior.summary == "trace"
    entry = STATE * task.step_limit if traces else 8 * task.behavior_size
    return (config.members + config.generations) * entry


def archives_bytes(config: Config, task: Task) -> int:
    """All copies of the archive: the coordinator's and the workers'."""
    workers = BACKENDS[config.backend].workers(config.workers)
    return (1 + CHECKPOINT + workers) * archive_bytes(config, task)


def available_bytes(system: Path = Path("/")) -> int:
    """Memory that is free to use."""
    limits = [total_bytes(system)]
    for line in _read(system / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            limits.append(int(line.split()[1]) * 1024)
    return min(limits)


def total_bytes(system: Path = Path("/")) -> int:
    """Memory of the machine, or less if a control group limits it."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # version 2, then 1
        text = _read(system / "sys/fs/cgroup" / name).strip()
        limits += [int(text)] if text.isdecimal() else []  # "max": no limit
    return min(limits)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # not on every system
        return ""


def check_memory(config: Config, task: Task, own: Policy | None = None) -> None:
    """UsageError if candidates and members alone need more memory than the machine has."""
    shape = task.facts.observation_space.shape or ()
    any_reference = np.zeros((2, *shape), np.uint8)  # for a policy that is only measured
    policy = policy_of(config, task.facts, any_reference, own)
    d, m = policy.size, policy.moments_size
    table = 4 * table_size(d)
    size = 0 if task.behavior.summary == "trace" else task.behavior_size
    jobs = 1 + config.look_ahead
    candidates = jobs * size_of(memory_fields(d, largest_call(config), m, size))
    members = config.members * (OPTIMIZED * 4 * d + 2 * 8 * m)
    needed, there = table + candidates + members, total_bytes()
    if needed > there:
        raise UsageError(
            f"n={config.n}, evaluation_episodes={config.evaluation_episodes} and "
            f"members={config.members} with {d:,} parameters need {needed / 1e9:,.1f} GB of "
            f"memory, but this machine has {there / 1e9:,.1f} GB; lower the largest of these."
        )


def warn_of_memory(config: Config, task: Task) -> None:
    """A warning, not an error, because few episodes last to the limit."""
    needed, available = archives_bytes(config, task), available_bytes()
    if needed > available:
        log.warning(
            "the archive may grow to %.1f GB, and its copies in all processes to %.1f GB, if all "
            "episodes last %s steps; this machine has %.1f GB left. If so, lower --generations, "
            "--max-steps or --workers.",
            archive_bytes(config, task) / 1e9, needed / 1e9, f"{task.step_limit:,}",
            available / 1e9,
        )  # fmt: skip
