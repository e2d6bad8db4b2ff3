"""Check that this machine is ready: each finding is a fact, with a remedy if something is wrong."""

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nses.execution.cpus import usable_cpus
from nses.execution.versions import cpu_model, current_versions
from nses.experiment.settings.memory import available_bytes
from nses.experiment.settings.recipes import recipe
from nses.extras import EXTRAS, installing, is_installed


@dataclass(frozen=True)
class Finding:
    name: str
    fact: str
    remedy: str = ""  # empty if all is well


def examine() -> list[Finding]:
    """All findings, the quick ones first; a check that raises becomes a finding too."""
    findings = []
    for name, check in CHECKS.items():
        try:
            findings.append(check(name))
        except Exception as error:  # a check that fails is what a doctor looks for
            findings.append(Finding(name, f"{type(error).__name__}: {error}", "see the message"))
    for extra in EXTRAS:
        how = (
            "installed" if is_installed(extra) else f"not installed (optional): {installing(extra)}"
        )
        findings.append(Finding(f"extra {extra}", how))
    return findings


def show(findings: list[Finding], console: Console) -> bool:
    """Print the findings; True if all is well."""
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("✗", "red") if finding.remedy else Text("✓", "green")
        fact = finding.fact + (f"\n→ {finding.remedy}" if finding.remedy else "")
        table.add_row(mark, finding.name, Text(fact))
    console.print(table, highlight=False)
    well = not any(finding.remedy for finding in findings)
    console.print(
        "This machine is ready: try 'nses train point-trap'."
        if well
        else "Something is wrong: see the lines marked ✗."
    )
    return well


def _python(name: str) -> Finding:
    old = sys.version_info < (3, 11)
    return Finding(
        name,
        f"{platform.python_version()} on {platform.platform()}",
        "nses needs Python 3.11 or newer" if old else "",
    )


def _versions(name: str) -> Finding:
    facts = {k: v for k, v in current_versions().items() if k not in ("python", "cpu")}
    return Finding(name, ", ".join(f"{k} {v}" for k, v in facts.items()))


def _cpus(name: str) -> Finding:
    return Finding(name, f"{usable_cpus()} of {os.cpu_count()} usable, {cpu_model()}")


def _memory(name: str) -> Finding:
    free = available_bytes()
    little = "close other programs: less than 1 GB is free" if free < 1e9 else ""
    return Finding(name, f"{free / 1e9:.1f} GB available", little)


def _disk(name: str) -> Finding:
    free = shutil.disk_usage(".").free / 1e9
    with tempfile.TemporaryFile(dir="."):
        pass
    remedy = "free some space: runs need about 0.5 GB" if free < 0.5 else ""
    return Finding(name, f"{free:.1f} GB free here", remedy)


def _compiled(name: str) -> Finding:
    """Whether compiled code computes correctly, and where it is cached."""
    import numpy as np

    from nses.core.compiled import CACHE, CHOSEN
    from nses.core.ranks import centered_ranks
    from nses.rollouts.native.network import tanh

    before = time.perf_counter()
    error = abs(float(tanh(np.float32(0.5))) - float(np.tanh(0.5)))
    assert centered_ranks([1.0, 2.0])[1] == 0.5
    seconds = time.perf_counter() - before
    where = f"cached in {CACHE.directory}"
    if CACHE.why:
        where = f"compiled anew by every command, because it cannot be cached: {CACHE.why}; "
        where += f"set {CHOSEN} to a directory of yours"
    fact = f"ready in {seconds:.2f} s, {where}"
    return Finding(name, fact, "" if error < 1e-6 else "tanh is wrong here")


def _repeatable(name: str) -> Finding:
    """Three generations in this process and in two workers give the same bits."""
    from dataclasses import replace

    from nses.experiment.train import pursue

    digests = []
    base = replace(recipe("point-trap", "smoke", "nsra-es"), generations=3, tensorboard=False)
    before = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        for config in (replace(base, backend="serial"), replace(base, workers=2)):
            run = pursue(replace(config, run_dir=str(Path(directory) / config.backend)))
            digests.append(run.digest)
    same = digests[0] == digests[1]
    return Finding(
        name,
        f"digest {digests[0][:12]} in this process"
        + (" and with 2 workers" if same else f", {digests[1][:12]} with 2 workers")
        + f" ({time.perf_counter() - before:.1f} s)",
        "" if same else "results depend on the worker count here: please report this",
    )


CHECKS: dict[str, Callable[[str], Finding]] = {
    "Python": _python,
    "versions": _versions,
    "CPUs": _cpus,
    "memory": _memory,
    "disk": _disk,
    "compiled code": _compiled,
    "same bits everywhere": _repeatable,
}
