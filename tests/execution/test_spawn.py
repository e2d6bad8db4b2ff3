"""How a process ended, in words."""

import signal
import subprocess
import sys

import pytest

from nses.execution.spawn import reason_of, signal_name


def test_l11_real_time_signals_have_names() -> None:
    assert signal_name(signal.SIGRTMIN) == "SIGRTMIN"
    assert signal_name(signal.SIGRTMIN + 3) == "SIGRTMIN+3"
    assert signal_name(signal.SIGRTMAX) == "SIGRTMAX"
    assert signal_name(signal.SIGSEGV) == "SIGSEGV"
    assert signal_name(32) == "signal 32"  # kept by the C library for itself


@pytest.mark.parametrize("signum", [signal.SIGRTMIN + 3, signal.SIGSEGV])
def test_l11_a_death_by_any_signal_is_told(signum: int) -> None:
    code = f"import os; os.kill(os.getpid(), {signum})"
    died = subprocess.run([sys.executable, "-c", code]).returncode
    assert reason_of(died) == signal_name(signum)
