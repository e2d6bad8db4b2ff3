"""The rows of a race, its tables and its figure."""

import csv
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

FILE = Path(__file__).parents[2] / "docs" / "results" / "race.csv"
ENVIRONMENTS = {"humanoid": "Humanoid-v5", "halfcheetah": "HalfCheetah-v5"}  # that decide
THRESHOLDS = {"humanoid": (1000, 2500, 5000), "halfcheetah": (1500, 3000)}  # returns
NAMES = {
    "es": "nses, ES",
    "nsra-es": "nses, NSRA-ES",
    "evotorch": "EvoTorch, PGPE + ClipUp",
    "ars": "SB3-contrib, ARS",
}


@dataclass(frozen=True)
class Row:
    """How good the policy was that a run had at some minute."""

    contender: str
    task: str
    seed: int
    budget: float  # minutes of the whole run
    minutes: float
    steps: int
    mean: float  # return over the judge's episodes

    @property
    def run(self) -> tuple[str, str, int, float]:
        return self.contender, self.task, self.seed, self.budget


HEAD = [*(field.name for field in fields(Row)[:-1]), "return"]


def kept(file: Path) -> list[Row]:
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    return [Row(c, t, int(s), float(b), float(m), int(n), float(f)) for c, t, s, b, m, n, f in rows]


def keep(file: Path, rows: list[Row]) -> None:
    """Add a run, all of it at once: whoever finds one of its rows takes it for finished."""
    head = [] if file.exists() else [HEAD]
    with file.open("a", newline="") as lines:
        csv.writer(lines).writerows([*head, *(astuple(row) for row in rows)])


def minutes_to(rows: list[Row], threshold: float) -> float:
    """When a run had a policy that good for the first time; infinite if it never had."""
    return min((row.minutes for row in rows if row.mean >= threshold), default=math.inf)


def runs_of(rows: list[Row], task: str, contender: str) -> list[list[Row]]:
    mine = [row for row in rows if (row.task, row.contender) == (task, contender)]
    return [list(run) for _, run in groupby(sorted(mine, key=lambda r: r.seed), lambda r: r.seed)]


def tables(rows: list[Row]) -> Iterator[str]:
    """For each task: minutes to each threshold, and the return in the end."""
    for task, thresholds in THRESHOLDS.items():
        if not any(row.task == task for row in rows):
            continue
        budget = max(row.budget for row in rows)
        cells = [f"minutes to {x:,}" for x in thresholds]
        last = f"return after {budget:g} minutes"
        yield f"| {ENVIRONMENTS[task]} | {' | '.join(cells)} | {last} | million steps |"
        yield "|---" * (len(thresholds) + 3) + "|"
        for contender, name in NAMES.items():
            runs = runs_of(rows, task, contender)
            if runs:
                times = [_cell([minutes_to(run, x) for run in runs]) for x in thresholds]
                ends = [_cell([run[-1].mean for run in runs], "{:,.0f}")]
                steps = f"{np.median([run[-1].steps for run in runs]) / 1e6:.3g}"
                yield f"| {' | '.join([name, *times, *ends, steps])} |"
        yield ""


def _cell(numbers: list[float], form: str = "{:.1f}") -> str:
    """Median (lowest–highest); how many are finite where not all are."""
    finite = [x for x in numbers if math.isfinite(x)]
    middle = float(np.median(numbers))
    median = form.format(middle) if math.isfinite(middle) else "–"
    if len(finite) < len(numbers):
        return f"{median} ({len(finite)} of {len(numbers)} runs)"
    if len(numbers) == 1:
        return median
    return f"{median} ({form.format(min(numbers))}–{form.format(max(numbers))})"


def draw(rows: list[Row], file: Path) -> None:
    """A panel for each task, a curve for each contender: the median, and the range over seeds."""
    tasks = [task for task in ENVIRONMENTS if any(row.task == task for row in rows)]
    if not tasks:
        return
    figure = Figure(figsize=(5.2 * len(tasks), 4.2), layout="constrained")
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    for panel, task in zip(panels, tasks, strict=True):
        for i, (contender, name) in enumerate(NAMES.items()):
            x, y = curves(runs_of(rows, task, contender))
            if len(x):
                panel.plot(x, np.median(y, axis=0), color=f"C{i}", label=name)
                panel.fill_between(x, y.min(axis=0), y.max(axis=0), color=f"C{i}", alpha=0.2, lw=0)
        for threshold in THRESHOLDS[task]:
            panel.axhline(threshold, color="grey", lw=0.6, ls=":")
        panel.set(title=ENVIRONMENTS[task], xlabel="minutes on two cores")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("mean return of ten episodes")
    panels[0].legend(loc="upper left")
    figure.savefig(file, dpi=130)


def curves(runs: list[list[Row]]) -> tuple[np.ndarray, np.ndarray]:
    """The minutes at which all runs have a policy (t,), and its returns (runs, t)."""
    returns = [{row.minutes: row.mean for row in run} for run in runs]
    common = sorted(set.intersection(*map(set, returns))) if returns else []
    return np.array(common), np.array([[run[t] for t in common] for run in returns])
