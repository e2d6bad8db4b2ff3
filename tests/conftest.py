"""For all tests: no program outlives the test that started it, and examples are the same."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from waiting import end_session

# Compiling takes seconds once, so no deadline; the same examples everywhere, so no surprises in CI.
settings.register_profile("nses", deadline=None, derandomize=True, database=None)
settings.load_profile("nses")


def pytest_configure() -> None:
    """Programs that tests start hear Ctrl-C and SIGHUP, also in the background or under nohup."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deals files to the processes, those with most slow tests first, so that none begins late."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    files: dict[Any, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)

    def urgency(tests: list[pytest.Item]) -> tuple[int, int]:
        return sum(test.get_closest_marker("slow") is not None for test in tests), len(tests)

    if processes > 1:
        hands: list[list[pytest.Item]] = [[] for _ in range(processes)]
        for tests in sorted(files.values(), key=urgency, reverse=True):
            min(hands, key=len).extend(tests)  # as long as those that xdist deals, in this order
        items[:] = [item for hand in hands for item in hand]


@pytest.fixture
def launch() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts programs in sessions of their own; whatever becomes of the test, they end with it."""
    started: list[subprocess.Popen[str]] = []

    def begin(args: list[str], **settings: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(args, text=True, start_new_session=True, **settings)
        started.append(process)
        return process

    yield begin
    for process in started:
        end_session(process)
