"""The paper's own results (its Tables 1 and 2), quoted: medians over its runs, not measured here.

Columns as in the paper: its four algorithms, then three that the paper itself quotes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nses.core.algorithms import ALGORITHMS
from nses.core.weight import keep
from nses.experiment.runs.run import Run
from nses.experiment.settings.command import changes_of
from nses.experiment.settings.config import to_dict
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.games import letters

OURS = ("retest_episodes",)  # settings without a counterpart in the paper
COLUMNS = ("es", "ns-es", "nsr-es", "nsra-es", "dqn", "noisy-dqn", "a3c+")

# fmt: off
ROWS: dict[str, tuple[float, ...]] = {
    "humanoid":                (8098.5, 6010.5, 6756.9, 7923.1),
    "humanoid-trap":           (5.3, 16.5, 31.2, 37.1),
    "atari:alien":             (3283.8, 1124.5, 2186.2, 4846.4, 2404, 2403, 1848.3),
    "atari:amidar":            (322.2, 134.7, 255.8, 305.0, 924, 1610, 964.7),
    "atari:bank_heist":        (140.0, 50.0, 130.0, 152.9, 455, 1068, 991.9),
    "atari:beam_rider":        (871.7, 805.5, 876.9, 906.4, 10564, 20793, 5992.1),
    "atari:freeway":           (31.1, 22.8, 32.3, 32.9, 31, 32, 27.3),
    "atari:frostbite":         (367.4, 250.0, 2978.6, 3785.4, 1000, 753, 506.6),
    "atari:gravitar":          (1129.4, 527.5, 732.9, 1140.9, 366, 447, 246.02),
    "atari:montezuma_revenge": (0, 0, 0, 0, 2, 3, 142.5),
    "atari:ms_pacman":         (4498.0, 2252.2, 3495.2, 5171.0, 2674, 2722, 2380.6),
    "atari:qbert":             (1075.0, 1234.1, 1400.0, 1350.0, 11241, 15545, 15804.7),
    "atari:seaquest":          (960.0, 1044.5, 2329.7, 960.0, 4163, 2282, 2274.1),
    "atari:zaxxon":            (9885.0, 1761.9, 6723.3, 7303.3, 4806, 6920, 7956.1),
}
# fmt: on


def quoted(task: str) -> dict[str, float]:
    """The paper's results on a task, by algorithm; empty for a task that is not in the paper."""
    return dict(zip(COLUMNS, ROWS.get(_canonical(task), ()), strict=False))


def departures(run: Run) -> str:
    """How a run differs from the paper's, in words; empty if the paper's number applies to it."""
    config = run.config
    if config.algorithm not in quoted(config.task):
        return "the paper has no such result"
    if run.own_task or run.own_policy or config.policy_class:
        return "a task or a policy of your own"
    original = to_dict(recipe(config.task, "paper", config.algorithm))
    own = changes_of(replace(config, recipe="paper"))
    adapts = ALGORITHMS[config.algorithm].adapt is not keep
    return ", ".join(
        f"{name}={_said(value)} (paper: {_said(original[name])})"
        for name, value in own.items()
        if name not in OURS and (adapts or not name.startswith("weight"))
    )


def captions(task: str, missing: Mapping[str, str]) -> list[str]:
    """The lines below the paper's numbers: where they are from, and why some are missing.

    `missing` says how the runs of each group differ from the paper's, by label.
    """
    results = quoted(task)
    if not results:
        return ["The paper has no results for this task."]
    reasons: dict[str, list[str]] = {}
    for label, reason in missing.items():
        reasons.setdefault(reason, []).append(label)
    others = [f"{name.upper()} {results[name]:g}" for name in COLUMNS[4:] if name in results]
    says = "Quoted from Conti et al. 2018, with the paper's settings; not measured here."
    says += f" The paper quotes others: {', '.join(others)}." if others else ""
    lines = [says] if reasons.pop("", []) else []
    return lines + [f"Not quoted for {', '.join(of)}: {why}." for why, of in reasons.items()]


def _said(value: Any) -> str:
    """A setting as on the command line."""
    values = value if isinstance(value, list) else [value]
    return " ".join("auto" if x is None else str(x) for x in values) or "none"


def _canonical(task: str) -> str:
    """A game may be spelled freely: atari:MsPacman is atari:ms_pacman."""
    plain = _plain(task)
    return next((name for name in ROWS if _plain(name) == plain), task)


def _plain(task: str) -> str:
    kind, colon, game = task.partition(":")
    return kind + colon + letters(game)
