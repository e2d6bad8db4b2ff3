"""For all tests: no stale compiled code."""

from pathlib import Path

import nses

SOURCE = Path(nses.__file__).parent


def pytest_configure() -> None:
    """Numba does not notice changes in what a cached function calls, so older caches go."""
    compiled = [path for path in SOURCE.rglob("*.py") if "@compiled" in path.read_text()]
    newest = max(path.stat().st_mtime for path in compiled)
    for cached in SOURCE.rglob("*.nb[ic]"):
        if cached.stat().st_mtime < newest:
            cached.unlink(missing_ok=True)
