"""The exceptions that a user may want to catch, each with the exit code of the command.

    NsesError                  1
      UsageError               2   also a ValueError
      TaskBroken               2   also a ValueError
      CheckpointRefused        3
      StorageFailed            4   also an OSError
      TooManyFailures          5   also a RuntimeError
      NotFinite                1   also an ArithmeticError
      RunsFailed               the runs' own exit code if all agree, else 1
      StopTraining             raised by your own listener to stop a run
    Stopped                    128 + the signal; a KeyboardInterrupt, not an Exception

Any other exception is a bug, in nses or in your own code.
"""

import signal


class NsesError(Exception):
    """An error that nses foresaw; its message says what to do."""

    exit_code = 1


class UsageError(NsesError, ValueError):
    """An argument or a file cannot be used; the message says what was expected."""

    exit_code = 2


class TaskBroken(NsesError, ValueError):
    """Not a single episode of the task could be played."""

    exit_code = 2


class CheckpointRefused(NsesError):
    """The files on disk are damaged, foreign or from another run, and are not used."""

    exit_code = 3


class StorageFailed(NsesError, OSError):
    """Writing to disk failed."""

    exit_code = 4


class TooManyFailures(NsesError, RuntimeError):
    """Too many evaluations of a generation failed."""

    exit_code = 5


class NotFinite(NsesError, ArithmeticError):
    """An update would have put NaN or infinity into theta. It was not applied."""


class RunsFailed(NsesError):
    """Some runs of an experiment did not finish."""

    def __init__(self, jobs: int, failed: dict[str, tuple[str, int]]):
        names = ", ".join(f"{name} ({fault})" for name, (fault, _) in failed.items())
        super().__init__(f"{len(failed)} of {jobs} runs failed: {names}.")
        codes = {code for _, code in failed.values()}
        self.exit_code = codes.pop() if len(codes) == 1 and min(codes) > 0 else 1


class StopTraining(NsesError):
    """Raised by a listener: the run stops after this generation, and can be resumed.

    Its message is recorded as the reason, as in `raise nses.StopTraining("good enough")`.
    An exception rather than a return value, because functions often return something by accident.
    """


class Stopped(KeyboardInterrupt):
    """A signal stopped training; all finished generations are on disk.

    It is not an Exception, so `except Exception` does not catch it.
    """

    def __init__(self, signum: int):
        super().__init__(
            f"stopped by {signal.Signals(signum).name}; all finished generations are kept"
        )
        self.exit_code = 128 + signum
