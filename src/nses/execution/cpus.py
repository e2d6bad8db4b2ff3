"""How many CPUs this process may use, and one BLAS thread for each worker."""

import os
from pathlib import Path

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}


def usable_cpus(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The CPUs of the affinity mask, or fewer where a control group allows less time."""
    known = hasattr(os, "sched_getaffinity")
    cpus = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    quota = _quota(cgroup)
    return max(1, cpus if quota is None else min(cpus, int(quota)))


def _quota(cgroup: Path) -> float | None:
    """CPUs that the control group grants (version 2, then 1); None if it does not limit them."""
    try:
        granted, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            granted = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text()
        except OSError:
            return None
    try:
        cpus = int(granted) / int(period)
    except ValueError:  # "max": no limit
        return None
    return cpus if cpus > 0 else None


def threads_of_this_process() -> int | None:
    """The number of threads, None if the operating system does not tell."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None
